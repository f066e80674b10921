// SPDX-License-Identifier: GPL-2.0-or-later
/* What the checks have in common: reading, findings, remedies. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audit/audit.h"
#include "base/array.h"
#include "base/error.h"
#include "base/text.h"

const char *const audit_severities[] = { "info", "warning", "error" };

static const struct audit_check unread_check = {
	.id = "audit.unread",
	.severity = AUDIT_INFO,
	.why = "the verdict does not include what this file holds",
};

static const struct audit_group unread_group = { .title = "Not read" };

static struct audit_finding *add(struct audit *audit, const struct audit_group *group,
				 const struct audit_check *check, const char *path,
				 const char *value)
{
	struct audit_finding *finding = ARRAY_ADD(audit->findings, audit->count);

	*finding = (struct audit_finding){
		.group = group,
		.check = check,
		.severity = check->severity,
		.path = text_format("%s", path),
		.value = text_trim(value),
		.fix = text_format("%s", ""),
		.undo = text_format("%s", ""),
	};
	return finding;
}

struct audit_finding *audit_find(struct audit *audit, const char *path, const char *value)
{
	struct audit_finding *finding = add(audit, audit->group, audit->check, path, value);

	audit->read++;
	if (audit->check->covered && audit->isolator)
		finding->severity = AUDIT_INFO;
	return finding;
}

void audit_unread(struct audit *audit, const char *path, const char *why)
{
	audit->unread++;
	for (size_t i = 0; i < audit->count; i++)
		if (audit_is_unread(&audit->findings[i]) && !strcmp(audit->findings[i].path, path))
			return;
	add(audit, &unread_group, &unread_check, path, why);
}

void audit_denied(struct audit *audit, const char *path, int error)
{
	size_t before = audit->count;

	audit_unread(audit, path, strerror(error));
	if (audit->count == before || (error != EACCES && error != EPERM))
		return;
	audit_advise(&audit->findings[before], REMEDY_NONE, error_locked_down(path, error) ?
		     ERROR_LOCKED_DOWN ": boot without Secure Boot and without lockdown=" :
		     audit->capture->kind == CAPTURE_LIVE && !geteuid() ? error_denied() :
		     "run isolator audit as root, on the machine itself", "");
}

bool audit_is_unread(const struct audit_finding *finding)
{
	return finding->check == &unread_check;
}

/* @path is its own from here on. */
static const struct capture_file *read_path(struct audit *audit, char *path)
{
	const struct capture_file *file = capture_read(audit->capture, path);

	free(path);
	if (!file->error) {
		audit->read++;
		return file;
	}
	if (file->error != ENOENT)
		audit_denied(audit, file->path, file->error);
	return NULL;
}

/* Passes the file on, or says that it holds no @what. */
static const struct capture_file *hold(struct audit *audit, const struct capture_file *file,
				       bool good, const char *what)
{
	char *why;

	if (!file || good)
		return file;
	audit->read--;
	why = text_format("it holds no %s: \"%.40s\"", what, file->value);
	audit_unread(audit, file->path, why);
	free(why);
	return NULL;
}

#define PATH(path, format) \
	do { \
		va_list arguments_; \
		va_start(arguments_, format); \
		(path) = text_formatv(format, arguments_); \
		va_end(arguments_); \
	} while (0)

const struct capture_file *audit_file(struct audit *audit, const char *format, ...)
{
	char *path;

	PATH(path, format);
	return read_path(audit, path);
}

const struct capture_file *audit_number(struct audit *audit, int64_t *number,
					const char *format, ...)
{
	const struct capture_file *file;
	char *path, *end = NULL;

	PATH(path, format);
	file = read_path(audit, path);
	if (file) {
		errno = 0;
		*number = strtoll(file->value, &end, 10);
	}
	return hold(audit, file, file && !errno && end != file->value && !*end, "number");
}

const struct capture_file *audit_list(struct audit *audit, struct cpulist *list,
				      const char *format, ...)
{
	const struct capture_file *file;
	char *path;

	PATH(path, format);
	file = read_path(audit, path);
	return hold(audit, file, file && cpulist_read(file->value, list), "list of CPUs");
}

const struct capture_file *audit_mask(struct audit *audit, struct cpulist *list,
				      const char *format, ...)
{
	const struct capture_file *file;
	char *path;

	PATH(path, format);
	file = read_path(audit, path);
	return hold(audit, file, file && cpulist_parse_mask(file->value, list), "mask of CPUs");
}

/* @path showed @count names: if none, is it for want of permission? */
static void look_for_denial(struct audit *audit, const char *path, size_t count)
{
	const struct capture_file *denied = count ? NULL : capture_find(audit->capture, path);

	if (denied && denied->error && denied->error != ENOENT)
		audit_denied(audit, path, denied->error);
}

char **audit_names(struct audit *audit, size_t *count, const char *format, ...)
{
	char **names, *path;

	PATH(path, format);
	names = capture_names(audit->capture, path, count);
	look_for_denial(audit, path, *count);
	free(path);
	return names;
}

char **audit_directories(struct audit *audit, size_t *count, const char *path)
{
	char **names = capture_directories(audit->capture, path, count);

	look_for_denial(audit, path, *count);
	return names;
}

void audit_set(struct audit_finding *finding, enum setting_kind kind, const char *format, ...)
{
	char *old = setting_value(kind, finding->value);

	PATH(finding->wanted, format);
	finding->remedy = REMEDY_WRITE;
	finding->kind = kind;
	free(finding->fix);
	free(finding->undo);
	finding->fix = setting_command(finding->path, finding->wanted);
	finding->undo = setting_command(finding->path, old);
	free(old);
}

void audit_zero(struct audit *audit, const char *format, ...)
{
	const struct capture_file *file;
	int64_t number;
	char *path;

	PATH(path, format);
	file = audit_number(audit, &number, "%s", path);
	free(path);
	if (file && number)
		audit_set(audit_find(audit, file->path, file->value), SETTING_TEXT, "0");
}

void audit_advise(struct audit_finding *finding, enum audit_remedy remedy, const char *fix,
		  const char *undo)
{
	free(finding->fix);
	free(finding->undo);
	finding->remedy = remedy;
	finding->fix = text_format("%s", fix);
	finding->undo = text_format("%s", undo);
}

void audit_boot_with(struct audit_finding *finding, const char *format, ...)
{
	char *parameter, *fix, *undo;

	PATH(parameter, format);
	fix = text_format("boot with %s", parameter);
	undo = text_format("boot without %s", parameter);
	audit_advise(finding, REMEDY_BOOT, fix, undo);
	free(fix);
	free(undo);
	finding->parameter = parameter;
}

char *audit_others(const struct audit *audit, const struct cpulist *mask,
		   enum setting_kind kind)
{
	struct cpulist left = *mask;

	cpulist_minus(&left, &audit->cpus);
	if (cpulist_empty(&left))
		left = audit->rest;
	if (cpulist_empty(&left))
		return NULL;
	return kind == SETTING_MASK ? cpulist_mask(&left) : cpulist_text(&left);
}

struct audit_finding *audit_spare(struct audit *audit, const struct capture_file *file,
				  const struct cpulist *named, enum setting_kind kind,
				  bool may_be_empty)
{
	struct audit_finding *finding;
	char *others;

	if (!file || !cpulist_common(named, &audit->cpus))
		return NULL;
	finding = audit_find(audit, file->path, file->value);
	if (may_be_empty && cpulist_within(named, &audit->cpus))
		others = text_format("%s", kind == SETTING_MASK ? "0" : "");
	else
		others = audit_others(audit, named, kind);
	if (others)
		audit_set(finding, kind, "%s", others);
	free(others);
	return finding;
}

bool audit_booted(struct audit *audit, const char *name, const char *value)
{
	const struct capture_file *file = audit_file(audit, "/proc/cmdline");
	const char *at = file ? file->value : "";
	size_t length = strlen(name);
	bool found = false;

	/* The last one of a name counts for some, any for others: any, here. */
	while (*at && !found) {
		size_t word = strcspn(at, " \n");

		if (word > length && !strncmp(at, name, length) && at[length] == '=') {
			const char *part = at + length + 1, *end = at + word;

			while (part < end && !found) {
				size_t one = strcspn(part, ", \n");

				found = one == strlen(value) && !strncmp(part, value, one);
				part += one + 1;
			}
		}
		at += word;
		at += strspn(at, " \n");
	}
	return found;
}

bool audit_kernel(struct audit *audit, int major, int minor)
{
	const struct capture_file *file = audit_file(audit, "/proc/sys/kernel/osrelease");
	int have[2] = { 0 };

	if (!file || sscanf(file->value, "%d.%d", &have[0], &have[1]) != 2)
		return false;
	return have[0] > major || (have[0] == major && have[1] >= minor);
}

bool audit_flag(struct audit *audit, const char *flag)
{
	const struct capture_file *cpuinfo = audit_file(audit, "/proc/cpuinfo");
	const char *at = cpuinfo ? strstr(cpuinfo->value, "\nflags") : NULL, *end;
	size_t length = strlen(flag);

	/* As arm64 calls them. */
	if (cpuinfo && !at)
		at = strstr(cpuinfo->value, "\nFeatures");
	if (!at)
		return false;
	end = at + 1 + strcspn(at + 1, "\n");
	while ((at = strstr(at, flag)) && at < end) {
		if (at[-1] == ' ' && (at[length] == ' ' || at + length == end))
			return true;
		at += length;
	}
	return false;
}
