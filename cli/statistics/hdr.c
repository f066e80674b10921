// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "statistics/hdr.h"

#define COOKIE UINT32_C(0x1c849313)		/* version 2, counts as words of variable length */
#define COOKIE_COMPRESSED UINT32_C(0x1c849314)
#define HEADER 40
#define WORD_MAX 9		/* bytes of a count */
#define STORED_MAX 65535	/* of a block of deflate */
#define ADLER 65521

/* Bytes that grow. */
struct bytes {
	unsigned char *data;
	size_t size, room;
};

static void put(struct bytes *bytes, unsigned int byte)
{
	if (bytes->size == bytes->room) {
		bytes->room = bytes->room ? 2 * bytes->room : 4096;
		bytes->data = realloc(bytes->data, bytes->room);
		if (!bytes->data)
			exit(error_say("no memory"));
	}
	bytes->data[bytes->size++] = (unsigned char)byte;
}

/* The most significant byte first. */
static void put_big(struct bytes *bytes, uint64_t value, int size)
{
	while (size--)
		put(bytes, (unsigned int)(value >> 8 * size) & 0xff);
}

/* Seven bits a byte, the lowest first; the ninth byte has all of its eight. */
static void put_word(struct bytes *bytes, int64_t value)
{
	uint64_t zigzag = (uint64_t)value << 1 ^ (uint64_t)(value >> 63);

	for (int i = 1; i < WORD_MAX && zigzag >> 7; i++, zigzag >>= 7)
		put(bytes, (unsigned int)(zigzag & 0x7f) | 0x80);
	put(bytes, (unsigned int)zigzag & 0xff);
}

/* Counts up to the last that is not 0; a run of zeros is one word, its length below 0. */
static void put_counts(struct bytes *bytes, const struct hist *hist)
{
	int64_t zeros = 0;

	for (size_t i = 0; i < hist->length; i++) {
		if (!hist->counts[i]) {
			zeros++;
			continue;
		}
		if (zeros)
			put_word(bytes, zeros == 1 ? 0 : -zeros);
		zeros = 0;
		put_word(bytes, (int64_t)hist->counts[i]);
	}
}

static struct bytes plain(const struct hist *hist)
{
	const double one = 1;
	struct bytes bytes = { 0 };
	uint64_t ratio;
	size_t length;

	put_big(&bytes, COOKIE, 4);
	put_big(&bytes, 0, 4);		/* length of the counts, below */
	put_big(&bytes, 0, 4);		/* nothing was shifted */
	put_big(&bytes, hist->digits, 4);
	put_big(&bytes, HIST_LOWEST, 8);
	put_big(&bytes, HIST_HIGHEST, 8);
	memcpy(&ratio, &one, sizeof(ratio));
	put_big(&bytes, ratio, 8);
	put_counts(&bytes, hist);
	length = bytes.size - HEADER;
	for (int i = 0; i < 4; i++)
		bytes.data[4 + i] = (unsigned char)(length >> 8 * (3 - i));
	return bytes;
}

static uint32_t adler(const struct bytes *bytes)
{
	uint32_t a = 1, b = 0;

	for (size_t i = 0; i < bytes->size; i++) {
		a = (a + bytes->data[i]) % ADLER;
		b = (b + a) % ADLER;
	}
	return b << 16 | a;
}

/* A zlib stream. */
static struct bytes stored(const struct bytes *data)
{
	struct bytes bytes = { 0 };
	size_t at = 0;

	put(&bytes, 0x78);
	put(&bytes, 0x01);
	do {
		size_t length = data->size - at < STORED_MAX ? data->size - at : STORED_MAX;

		put(&bytes, at + length == data->size);
		put(&bytes, length & 0xff);
		put(&bytes, (unsigned int)length >> 8);
		put(&bytes, ~length & 0xff);
		put(&bytes, (unsigned int)(~length >> 8) & 0xff);
		for (size_t i = 0; i < length; i++)
			put(&bytes, data->data[at + i]);
		at += length;
	} while (at < data->size);
	put_big(&bytes, adler(data), 4);
	return bytes;
}

static struct bytes base64(const struct bytes *data)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	struct bytes bytes = { 0 };

	for (size_t i = 0; i < data->size; i += 3) {
		size_t have = data->size - i < 3 ? data->size - i : 3;
		uint32_t three = 0;

		for (size_t k = 0; k < 3; k++)
			three = three << 8 | (k < have ? data->data[i + k] : 0U);
		for (unsigned int k = 0; k < 4; k++)
			put(&bytes, k <= have ?
			    (unsigned char)letters[three >> (18 - 6 * k) & 0x3f] : '=');
	}
	put(&bytes, '\0');
	return bytes;
}

char *hdr_encode(const struct hist *hist)
{
	struct bytes counts = plain(hist), stream = stored(&counts), whole = { 0 }, text;

	put_big(&whole, COOKIE_COMPRESSED, 4);
	put_big(&whole, stream.size, 4);
	for (size_t i = 0; i < stream.size; i++)
		put(&whole, stream.data[i]);
	text = base64(&whole);
	free(counts.data);
	free(stream.data);
	free(whole.data);
	return (char *)text.data;
}
