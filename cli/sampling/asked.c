// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "sampling/asked.h"

static char *copy(const char *text)
{
	return text ? text_format("%s", text) : NULL;
}

static void clear(struct asked *asked)
{
	free(asked->asked);
	free(asked->got);
	free(asked->note);
}

void asked_add(struct asked_list *list, const char *name, const char *asked, const char *got,
	       bool held, bool insisted, const char *note, ...)
{
	struct asked *entry = NULL;
	va_list arguments;

	for (size_t i = 0; i < list->count; i++)
		if (!strcmp(list->list[i].name, name))
			entry = &list->list[i];
	if (entry)
		clear(entry);
	else
		entry = ARRAY_ADD(list->list, list->count);
	*entry = (struct asked){ .name = name, .asked = copy(asked), .got = copy(got),
				 .held = held, .insisted = insisted };
	if (!note)
		return;
	va_start(arguments, note);
	entry->note = text_formatv(note, arguments);
	va_end(arguments);
}

const struct asked *asked_broken(const struct asked_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->list[i].insisted && !list->list[i].held)
			return &list->list[i];
	return NULL;
}

void asked_free(struct asked_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		clear(&list->list[i]);
	free(list->list);
	*list = (struct asked_list){ 0 };
}
