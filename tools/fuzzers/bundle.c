// SPDX-License-Identifier: GPL-2.0-or-later
/* A bundle of isolator audit, a tar archive, whose sums are made right. */
#include <sys/mman.h>
#include <unistd.h>

#include "machine/capture.h"
#include "harness.h"

#define BLOCK 512
#define SUM 148
#define MAGIC 257

static void seal(uint8_t *block)
{
	unsigned int sum = 0;
	char text[8];

	memset(block + SUM, ' ', sizeof(text));
	for (size_t i = 0; i < BLOCK; i++)
		sum += block[i];
	snprintf(text, sizeof(text), "%06o", sum);
	memcpy(block + SUM, text, sizeof(text));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *text = (uint8_t *)harness_text(data, size);
	struct capture capture;
	char path[32], **names;
	size_t count;
	int file;

	for (size_t at = 0; at + BLOCK <= size; at += BLOCK)
		if (!memcmp(text + at + MAGIC, "ustar", 5))
			seal(text + at);
	file = memfd_create("bundle", MFD_CLOEXEC);
	if (file < 0 || write(file, text, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	if (!capture_open(&capture, path)) {
		capture_read(&capture, "/proc/cmdline");
		names = capture_names(&capture, "/proc", &count);
		capture_names_free(names, count);
		capture_free(&capture);
	}
	close(file);
	free(text);
	return 0;
}
