// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The files of a machine, "\n==> PATH\n" before each, as those in cli/tests/captures: all
 * checks of isolator audit look at them, and what they found is shown.
 */
#include "audit/audit.h"
#include "audit/boot.h"
#include "machine/capture.h"
#include "harness.h"

#define MARK "\n==> "

static void add(struct capture *capture, char *head)
{
	char *text = strchr(head, '\n');
	struct capture_file *file;

	if (text)
		*text++ = '\0';
	head[strcspn(head, " ")] = '\0';
	if (*head != '/')
		return;
	file = capture_find(capture, head);
	if (!file)
		file = capture_add(capture, head);
	if (!text || file->text)
		return;
	file->mode = 0644;
	capture_fill(file, harness_text((const uint8_t *)text, strlen(text)), strlen(text));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct capture capture = { .root = "a capture", .kind = CAPTURE_BUNDLE };
	const struct cpulist none = { 0 };
	struct audit audit;
	char *text, *part;

	if (memchr(data, 0, size))
		return -1;
	text = harness_text(data, size);
	for (part = strstr(text, MARK); part;) {
		char *next = strstr(part + strlen(MARK), MARK);

		if (next)
			*next = '\0';
		add(&capture, part + strlen(MARK));
		part = next;
	}
	if (!audit_run(&audit, &capture, &none, NULL)) {
		struct boot boot;
		const struct audit_view view = { .audit = &audit, .boot = &boot };

		boot_plan(&boot, &audit, view.least);
		audit_text(harness_sink(), &view);
		audit_json(harness_sink(), &view);
		boot_free(&boot);
		audit_free(&audit);
	}
	capture_free(&capture);
	free(text);
	return 0;
}
