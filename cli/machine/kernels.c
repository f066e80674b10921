// SPDX-License-Identifier: GPL-2.0-or-later
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/error.h"
#include "base/root.h"
#include "base/term.h"
#include "base/text.h"
#include "machine/kernels.h"

#define BOOT "/boot"
#define CONFIG "config-"
#define HAS "\nCONFIG_ISOLATOR=y\n"
#define GRUB_MENU "/boot/grub/grub.cfg"

/* Has the installed kernel @version Isolator, and is it there to be booted? */
static bool has(const char *root, const char *version)
{
	char *path = text_format(BOOT "/" CONFIG "%s", version), *image;
	char *config = root_read(root, path, &(size_t){ 0 });
	bool found = config && strstr(config, HAS);
	int fd;

	free(config);
	free(path);
	if (!found)
		return false;
	image = text_format(BOOT "/vmlinuz-%s", version);
	fd = root_open(root, image, O_PATH);
	free(image);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* The newest of them other than @running, to be freed; NULL: there is none. */
static char *installed(const char *root, const char *running)
{
	int fd = root_open(root, BOOT, O_RDONLY | O_DIRECTORY);
	DIR *directory = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	char *newest = NULL;

	if (fd >= 0 && !directory)
		close(fd);
	while (directory && (entry = readdir(directory))) {
		const char *version = entry->d_name + strlen(CONFIG);

		/* One that a terminal would not show as it is is no kernel's. */
		if (strncmp(entry->d_name, CONFIG, strlen(CONFIG)) || !term_is_clean(version) ||
		    !strcmp(version, running) ||
		    (newest && strverscmp(version, newest) < 0) || !has(root, version))
			continue;
		free(newest);
		newest = text_format("%s", version);
	}
	if (directory)
		closedir(directory);
	return newest;
}

/* What stands between the quotes after @word of a menu's line, to be freed; NULL: nothing. */
static char *title(const char *line, const char *word)
{
	const char *end;

	line += strspn(line, " \t");
	if (strncmp(line, word, strlen(word)) || line[strlen(word)] != ' ')
		return NULL;
	line += strlen(word) + 1;
	if (*line != '\'' || !(end = strchr(line + 1, '\'')))
		return NULL;
	return text_format("%.*s", (int)(end - line - 1), line + 1);
}

/*
 * What GRUB calls the entry that boots @version: "SUBMENU>ENTRY", or an entry alone.  Of
 * several the first, as others are for recovery.  To be freed; NULL: it is not known.
 */
static char *grub_entry(const char *root, const char *version)
{
	char *menu = root_read(root, GRUB_MENU, &(size_t){ 0 }), *next = menu, *line;
	char *end = text_format("with Linux %s", version), *above = NULL, *found = NULL;

	while (!found && (line = strsep(&next, "\n"))) {
		char *submenu = title(line, "submenu"), *entry = title(line, "menuentry");
		size_t length = entry ? strlen(entry) : 0;

		/* At the left margin a menu has ended. */
		if (submenu || *line == '}') {
			free(above);
			above = submenu;
		}
		if (length >= strlen(end) && !strcmp(entry + length - strlen(end), end))
			found = text_format("%s%s%s", above ? above : "", above ? ">" : "", entry);
		free(entry);
	}
	free(above);
	free(end);
	free(menu);
	/* It is printed, to be copied into a shell. */
	if (found && !term_is_clean(found)) {
		free(found);
		found = NULL;
	}
	return found;
}

char *kernels_without(const char *root, char **command)
{
	struct utsname kernel = { 0 };
	char *version, *entry, *word, *text;

	uname(&kernel);
	*command = NULL;
	version = installed(root, kernel.release);
	if (!version)
		return text_format("this kernel has no Isolator (%s), and neither has any other in " BOOT ". To get one, " KERNELS_INSTALL,
				   kernel.release);
	entry = grub_entry(root, version);
	word = entry ? text_shell(entry) : NULL;
	if (word)
		*command = text_format("grub-reboot %s && reboot", word);
	text = text_format("this kernel has no Isolator (%s), but %s has, which is installed. %s",
			   kernel.release, version, word ? "To boot it once, as root:" :
			   "To use it, reboot and choose it in the boot menu");
	free(word);
	free(entry);
	free(version);
	return text;
}

void kernels_say(const char *root, const char *what)
{
	char *command, *text = kernels_without(root, &command);

	error_say("%s: %s", what, text);
	if (command)
		fprintf(stderr, "  %s\n", command);
	free(command);
	free(text);
}
