// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "statistics/hdr.h"

#define COOKIE UINT32_C(0x1c849313)		/* version 2, counts as words of variable length */
#define COOKIE_COMPRESSED UINT32_C(0x1c849314)
#define HEADER 40
#define WORD_MAX 9		/* bytes of a count */
#define STORED_MAX 65535	/* of a block of deflate */
#define ADLER 65521

/* The most significant byte first. */
static void put_big(FILE *out, uint64_t value, int size)
{
	while (size--)
		fputc((int)(value >> 8 * size) & 0xff, out);
}

/* The length of what follows, once that is known, where there were four bytes for it. */
static void set_length(char *at, size_t length)
{
	for (int i = 0; i < 4; i++)
		at[i] = (char)(length >> 8 * (3 - i));
}

/* Seven bits a byte, the lowest first; the ninth byte has all of its eight. */
static void put_word(FILE *out, int64_t value)
{
	uint64_t zigzag = (uint64_t)value << 1 ^ (uint64_t)(value >> 63);

	for (int i = 1; i < WORD_MAX && zigzag >> 7; i++, zigzag >>= 7)
		fputc((int)(zigzag & 0x7f) | 0x80, out);
	fputc((int)zigzag & 0xff, out);
}

/* Counts up to the last that is not 0; a run of zeros is one word, its length below 0. */
static void put_counts(FILE *out, const struct hist *hist)
{
	int64_t zeros = 0;

	for (size_t i = 0; i < hist->length; i++) {
		if (!hist->counts[i]) {
			zeros++;
			continue;
		}
		if (zeros)
			put_word(out, zeros == 1 ? 0 : -zeros);
		zeros = 0;
		put_word(out, (int64_t)hist->counts[i]);
	}
}

/* To be freed, as what the next two return. */
static char *plain(const struct hist *hist, size_t *size)
{
	const double one = 1;
	uint64_t ratio;
	char *data;
	FILE *out = text_open(&data, size);

	put_big(out, COOKIE, 4);
	put_big(out, 0, 4);		/* length of the counts, below */
	put_big(out, 0, 4);		/* nothing was shifted */
	put_big(out, hist->digits, 4);
	put_big(out, HIST_LOWEST, 8);
	put_big(out, HIST_HIGHEST, 8);
	memcpy(&ratio, &one, sizeof(ratio));
	put_big(out, ratio, 8);
	put_counts(out, hist);
	fclose(out);
	set_length(data + 4, *size - HEADER);
	return data;
}

static uint32_t adler(const char *data, size_t size)
{
	uint32_t a = 1, b = 0;

	for (size_t i = 0; i < size; i++) {
		a = (a + (unsigned char)data[i]) % ADLER;
		b = (b + a) % ADLER;
	}
	return b << 16 | a;
}

/* A zlib stream, and before it its length. */
static char *stored(const char *data, size_t length, size_t *size)
{
	char *stream;
	FILE *out = text_open(&stream, size);
	size_t at = 0;

	put_big(out, COOKIE_COMPRESSED, 4);
	put_big(out, 0, 4);		/* length of the stream, below */
	put_big(out, 0x7801, 2);
	do {
		size_t block = length - at < STORED_MAX ? length - at : STORED_MAX;

		fputc(at + block == length, out);
		put_big(out, (block & 0xff) << 8 | block >> 8, 2);
		put_big(out, (~block & 0xff) << 8 | (~block >> 8 & 0xff), 2);
		fwrite(data + at, 1, block, out);
		at += block;
	} while (at < length);
	put_big(out, adler(data, length), 4);
	fclose(out);
	set_length(stream + 4, *size - 8);
	return stream;
}

static char *base64(const char *data, size_t length)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t size;
	char *text;
	FILE *out = text_open(&text, &size);

	for (size_t i = 0; i < length; i += 3) {
		size_t have = length - i < 3 ? length - i : 3;
		uint32_t three = 0;

		for (size_t k = 0; k < 3; k++)
			three = three << 8 | (k < have ? (unsigned char)data[i + k] : 0U);
		for (unsigned int k = 0; k < 4; k++)
			fputc(k <= have ? letters[three >> (18 - 6 * k) & 0x3f] : '=', out);
	}
	fclose(out);
	return text;
}

char *hdr_encode(const struct hist *hist)
{
	size_t plain_size, size;
	char *counts = plain(hist, &plain_size), *stream = stored(counts, plain_size, &size);
	char *text = base64(stream, size);

	free(counts);
	free(stream);
	return text;
}
