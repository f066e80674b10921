// SPDX-License-Identifier: GPL-2.0-or-later
/* Which parameters, into which file, and how it looks then. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "audit/boot.h"
#include "base/array.h"
#include "base/text.h"

#define GRUB "/etc/default/grub"
#define GRUB_DIRECTORY "/etc/default/grub.d"
#define VARIABLE "GRUB_CMDLINE_LINUX"
#define OURS VARIABLE "=\"$" VARIABLE " "

/* Between words of a command line, or around them in a file of shell variables. */
#define ENDS " \t\n\"'"

/* How a file begins that this command has written. */
static const char head[] =
	"# Written by isolator audit --fix --boot; isolator restore takes it away.\n";

/* How long the name of a parameter is, with its "=". */
static size_t name_length(const char *parameter)
{
	size_t length = strcspn(parameter, "=");

	return length + (parameter[length] == '=');
}

/* The value of @parameter's name in @text, which ends at one of ENDS; NULL: it has none. */
static const char *value_in(const char *text, const char *parameter)
{
	size_t length = name_length(parameter);

	for (const char *at = text; *at;) {
		at += strspn(at, ENDS);
		/* The first word of an assignment: VARIABLE=isolcpus=1 */
		if (!strncmp(at, VARIABLE, strlen(VARIABLE)) && strcspn(at, "=") < strcspn(at, ENDS))
			at += strcspn(at, "=") + 1 + strspn(at + strcspn(at, "=") + 1, ENDS);
		if (!strncmp(at, parameter, length))
			return at + length;
		at += strcspn(at, ENDS);
	}
	return NULL;
}

static bool same_value(const char *value, const char *parameter)
{
	const char *wanted = parameter + name_length(parameter);
	size_t length = strcspn(value, ENDS);

	return length == strlen(wanted) && !strncmp(value, wanted, length);
}

/* One more; of two of a name, the one that says more. */
static void want(struct boot *boot, const char *parameter)
{
	size_t length = name_length(parameter);

	for (size_t i = 0; i < boot->count; i++) {
		char **other = &boot->parameters[i];

		if (strncmp(*other, parameter, length))
			continue;
		if (strlen(*other) < strlen(parameter)) {
			free(*other);
			*other = text_format("%s", parameter);
		}
		return;
	}
	*ARRAY_ADD(boot->parameters, boot->count) = text_format("%s", parameter);
}

/* What @file has already; with another value: of two, the kernel takes one or none. */
static void meet(struct boot *boot, const struct capture_file *file, const char *text)
{
	for (size_t i = 0; i < boot->count; i++) {
		const char *parameter = boot->parameters[i], *value = value_in(text, parameter);

		if (value && same_value(value, parameter))
			boot->elsewhere |= UINT64_C(1) << i;
		else if (value && !boot->why)
			boot->why = text_format("%s has %.*s%.*s already, and the kernel does not take it twice: take it out there, then do this again for %s",
						file->path, (int)name_length(parameter),
						parameter, (int)strcspn(value, ENDS), value,
						parameter);
	}
}

/* The lines of a file for GRUB that say something of a command line; to be freed. */
static char *command_lines(const char *text)
{
	size_t size;
	char *lines;
	FILE *out = text_open(&lines, &size);

	while (*text) {
		size_t length = strcspn(text, "\n");
		const char *at = text + strspn(text, " \t");

		if (!strncmp(at, VARIABLE, strlen(VARIABLE)))
			fprintf(out, "%.*s\n", (int)length, text);
		text += length;
		text += *text == '\n';
	}
	fclose(out);
	return lines;
}

static void meet_grub(struct boot *boot, struct audit *audit, const char *path)
{
	const struct capture_file *file = audit_file(audit, "%s", path);
	char *lines = file ? command_lines(file->text) : NULL;

	if (lines)
		meet(boot, file, lines);
	free(lines);
}

/* What an earlier one of ours has, and is not wanted with another value. */
static void put_kept(FILE *out, const struct boot *boot)
{
	const char *at = boot->before ? strstr(boot->before, OURS) : NULL, *end;

	if (!at)
		return;
	at += strlen(OURS);
	end = at + strcspn(at, "\"\n");
	while (at < end) {
		size_t length = strcspn(at, " \"\n");
		char *word = text_format("%.*s", (int)length, at);
		bool kept = length;

		for (size_t i = 0; i < boot->count; i++)
			kept &= strncmp(word, boot->parameters[i],
					name_length(boot->parameters[i])) != 0;
		if (kept)
			fprintf(out, " %s", word);
		free(word);
		at += length;
		at += *at == ' ';
	}
}

static void plan_grub(struct boot *boot, struct audit *audit)
{
	const struct capture_file *ours = capture_read(audit->capture, BOOT_FILE);
	size_t count, size;
	char **names;
	FILE *out;

	boot->loader = "grub";
	boot->path = BOOT_FILE;
	meet_grub(boot, audit, GRUB);
	names = audit_names(audit, &count, GRUB_DIRECTORY);
	for (size_t i = 0; i < count; i++) {
		char *path = text_format(GRUB_DIRECTORY "/%s", names[i]);
		size_t length = strlen(names[i]);

		if (strcmp(path, BOOT_FILE) && length > 4 &&
		    !strcmp(names[i] + length - 4, ".cfg"))
			meet_grub(boot, audit, path);
		free(path);
	}
	capture_names_free(names, count);
	boot->before = ours->error ? NULL : text_format("%s", ours->text);
	if (!boot->why && ours->error && ours->error != ENOENT)
		boot->why = text_format(BOOT_FILE ": %s", strerror(ours->error));
	else if (!boot->why && boot->before && strncmp(boot->before, head, strlen(head)))
		boot->why = text_format(BOOT_FILE " is there, but this command has not written it: give it another name that ends in .cfg, then do this again");
	out = text_open(&boot->after, &size);
	fputs(head, out);
	fputs(VARIABLE "=\"$" VARIABLE, out);
	put_kept(out, boot);
	for (size_t i = 0; i < boot->count; i++)
		if (!(boot->elsewhere >> i & 1))
			fprintf(out, " %s", boot->parameters[i]);
	fputs("\"\n", out);
	fclose(out);
	if (!boot->before && boot->elsewhere == (UINT64_C(1) << boot->count) - 1)
		boot->state = BOOT_STANDS;
}

static bool is_there(struct audit *audit, const char *path)
{
	return !capture_read(audit->capture, path)->error;
}

/* Boot loaders that are only named. */
static void name_other(struct boot *boot, struct audit *audit)
{
	static const struct {
		const char *file, *loader, *where;
	} others[] = {
		{ "/boot/loader/loader.conf", "systemd-boot",
		  "add it to /etc/kernel/cmdline and install the kernel again (kernel-install), or to the options line of the entry in /boot/loader/entries" },
		{ "/boot/efi/loader/loader.conf", "systemd-boot",
		  "add it to /etc/kernel/cmdline and install the kernel again (kernel-install), or to the options line of the entry in /boot/efi/loader/entries" },
		{ "/efi/loader/loader.conf", "systemd-boot",
		  "add it to /etc/kernel/cmdline and install the kernel again (kernel-install), or to the options line of the entry in /efi/loader/entries" },
		{ "/boot/extlinux/extlinux.conf", "extlinux",
		  "add it to the append line in /boot/extlinux/extlinux.conf; where u-boot-update writes that, to U_BOOT_PARAMETERS in /etc/default/u-boot" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		if (!is_there(audit, others[i].file))
			continue;
		boot->loader = others[i].loader;
		boot->why = text_format("%s", others[i].where);
		return;
	}
	boot->why = text_format("no boot loader is known here: add it to the kernel's command line, wherever that comes from");
}

/* The firmware of a Raspberry Pi, in one of two places: where the newer is, the older names it. */
static void name_firmware(struct boot *boot, struct audit *audit)
{
	static const char *const places[] = { "/boot/firmware", "/boot" };

	for (size_t i = 0; i < ARRAY_SIZE(places) && !boot->loader; i++) {
		char *line = text_format("%s/cmdline.txt", places[i]);
		char *config = text_format("%s/config.txt", places[i]);

		if (is_there(audit, line) && is_there(audit, config)) {
			bool made = is_there(audit, "/etc/default/raspi-firmware");

			boot->loader = made ? "raspi-firmware" : "raspberry-pi";
			boot->why = made ? text_format("add it to /etc/default/raspi-extra-cmdline, from which Debian's raspi-firmware writes %s: dpkg-reconfigure raspi-firmware",
						       line) :
				text_format("add it to the line of %s, which stays one line", line);
		}
		free(config);
		free(line);
	}
}

void boot_plan(struct boot *boot, struct audit *audit, enum audit_severity least)
{
	*boot = (struct boot){ 0 };
	for (size_t i = 0; i < audit->count; i++)
		if (audit->findings[i].parameter && audit->findings[i].severity >= least)
			want(boot, audit->findings[i].parameter);
	if (!boot->count)
		return;
	name_firmware(boot, audit);
	if (!boot->loader && is_there(audit, GRUB))
		plan_grub(boot, audit);
	else if (!boot->loader)
		name_other(boot, audit);
	if (boot->why)
		boot->state = BOOT_SHOWN;
	else if (boot->before && !strcmp(boot->before, boot->after))
		boot->state = BOOT_STANDS;
}

void boot_free(struct boot *boot)
{
	for (size_t i = 0; i < boot->count; i++)
		free(boot->parameters[i]);
	free(boot->parameters);
	free(boot->before);
	free(boot->after);
	free(boot->why);
}
