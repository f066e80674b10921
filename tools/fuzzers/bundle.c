// SPDX-License-Identifier: GPL-2.0-or-later
/* A bundle of isolator audit: tar's list of it up to a NUL, and then all contents. */
#include "machine/bundle.h"
#include "machine/capture.h"
#include "harness.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct capture capture = { .root = "a bundle", .kind = CAPTURE_BUNDLE };
	const uint8_t *end = memchr(data, 0, size);
	size_t length = end ? (size_t)(end - data) : size, count;
	char *list = harness_text(data, length), **names;
	char *text = end ? harness_text(end + 1, size - length - 1) : harness_text(data, 0);

	bundle_take(&capture, list, text, end ? size - length - 1 : 0);
	capture_read(&capture, "/proc/cmdline");
	names = capture_names(&capture, "/proc", &count);
	capture_names_free(names, count);
	capture_free(&capture);
	free(text);
	free(list);
	return 0;
}
