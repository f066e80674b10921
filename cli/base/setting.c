// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cpulist.h"
#include "base/file.h"
#include "base/root.h"
#include "base/setting.h"
#include "base/text.h"

#define OFF "NO_"
#define WORK_CPUS "/sys/devices/virtual/workqueue/cpumask"

char *setting_value(enum setting_kind kind, const char *text)
{
	const char *open = strchr(text, '['), *end = open ? strchr(open, ']') : NULL;

	if (kind == SETTING_CHOICE && end)
		return text_format("%.*s", (int)(end - open - 1), open + 1);
	return text_trim(text);
}

char *setting_before(enum setting_kind kind, const char *text, const char *wanted)
{
	const char *word = strncmp(wanted, OFF, strlen(OFF)) ? wanted : wanted + strlen(OFF);

	if (kind != SETTING_SWITCH)
		return setting_value(kind, text);
	return text_format("%s%s", text_has_word(text, word) ? "" : OFF, word);
}

/* The CPUs of a value of a kind that lists some; false: it is none. */
static bool read_cpus(enum setting_kind kind, const char *value, struct cpulist *cpus)
{
	return kind == SETTING_MASK ? cpulist_parse_mask(value, cpus) : cpulist_read(value, cpus);
}

static bool lists_cpus(enum setting_kind kind)
{
	return kind == SETTING_LIST || kind == SETTING_MASK || kind == SETTING_ADDED;
}

bool setting_holds(enum setting_kind kind, const char *text, const char *value)
{
	char *have = setting_value(kind, text);
	struct cpulist is, wanted;
	bool same;

	if (lists_cpus(kind))
		same = read_cpus(kind, have, &is) && read_cpus(kind, value, &wanted) &&
			!memcmp(&is, &wanted, sizeof(is));
	else if (kind == SETTING_SWITCH)
		same = text_has_word(have, value);
	else if (kind == SETTING_WORD)
		same = text_has_word(have, value + 1) || !strcmp(have, value);
	else
		same = !strcmp(have, value);
	free(have);
	return same;
}

char *setting_command(const char *path, const char *value)
{
	bool lines = strchr(value, '\n');
	size_t size;
	char *text, *word;
	FILE *out = text_open(&text, &size);

	fputs(lines ? "printf '%s\\n'" : "echo", out);
	while (*value) {
		size_t length = strcspn(value, "\n");
		char *line = text_format("%.*s", (int)length, value);

		word = text_shell(line);
		fprintf(out, " %s", word);
		free(word);
		free(line);
		value += length;
		value += *value == '\n';
	}
	word = text_shell(path);
	fprintf(out, " > %s", word);
	free(word);
	fclose(out);
	return text;
}

/*
 * Which file shows what @path was told.  Of the CPUs for kernel work the kernel takes out those of
 * isolated partitions; since it does so, one beside it has what was asked for.
 */
static const char *told(const char *root, const char *path)
{
	static const char beside[] = WORK_CPUS "_requested";
	int fd = strcmp(path, WORK_CPUS) ? -1 : root_open(root, beside, O_RDONLY);

	if (fd < 0)
		return path;
	close(fd);
	return beside;
}

int setting_write_text(const char *root, const char *path, const char *text)
{
	int fd, error;

	/* A file of the kernel's takes a text at once; of others a kill would leave none. */
	if (!root_live(root)) {
		char *beside = text_format(ROOT_OWN "/" ROOT_NEW "%d", (int)getpid());

		error = root_replace(root, told(root, path), beside, 0, text);
		free(beside);
		if (!error)
			return 0;
	}
	/* Some files are emptied by being opened so (set_event); no other minds. */
	fd = root_open(root, path, O_WRONLY | O_TRUNC);
	if (fd < 0)
		return errno;
	error = file_write_fd(fd, text, strlen(text));
	/* A remote file system says only now that it could not. */
	if (close(fd) && !error)
		error = errno;
	return error;
}

int setting_write(const char *root, const char *path, const char *value)
{
	char *line = text_format("%s\n", value);
	int error = setting_write_text(root, path, line);

	free(line);
	return error;
}

char *setting_read(const char *root, const char *path)
{
	size_t size;
	char *text = root_read(root, told(root, path), &size);

	if (text && strlen(text) != size) {
		free(text);
		errno = EILSEQ;
		return NULL;
	}
	return text;
}
