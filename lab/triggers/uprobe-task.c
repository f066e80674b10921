// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: uprobe-task
 * row: 92, 8
 * class: queue
 * kind: program
 * notick: no
 * about: a probe is planted where the task's program began, never run again, and taken away
 */
#include <elf.h>
#include "trigger.h"

#define TRACING "/sys/kernel/tracing/"
#define ENABLE TRACING "events/lab/lab_entry/enable"
enum { ROUNDS = 2 };

#ifdef __aarch64__
typedef uint32_t instruction;
#define BREAKPOINT 0xd42000a0U	/* brk #5 */
#else
typedef uint8_t instruction;
#define BREAKPOINT 0xccU
#endif

static void put(const char *file, const char *value)
{
	int fd = open(file, O_WRONLY | O_APPEND);

	if (fd < 0)
		answer(false, "done", "missing: %s", file);
	need(write(fd, value, strlen(value)) == (ssize_t)strlen(value));
	close(fd);
}

/* Where the program's entry is in memory; *offset: in its file. */
static unsigned long entry(const char *path, unsigned long *offset)
{
	int fd = open(path, O_RDONLY);
	Elf64_Phdr segment;
	Elf64_Ehdr head;

	need(fd >= 0 && read(fd, &head, sizeof(head)) == sizeof(head));
	if (head.e_type != ET_EXEC)
		answer(false, "done", "the task's program is not at a fixed address");
	for (int i = 0; i < head.e_phnum; i++) {
		need(pread(fd, &segment, sizeof(segment),
			   (off_t)(head.e_phoff + (unsigned long)i * sizeof(segment))) ==
		     sizeof(segment));
		if (segment.p_type == PT_LOAD && head.e_entry >= segment.p_vaddr &&
		    head.e_entry < segment.p_vaddr + segment.p_filesz)
			*offset = head.e_entry - segment.p_vaddr + segment.p_offset;
	}
	close(fd);
	need(*offset);
	return head.e_entry;
}

int main(void)
{
	char path[64], text[300], program[200] = "";
	int mem, planted = 0, restored = 0;
	unsigned long at, offset = 0;
	instruction before, now;

	snprintf(path, sizeof(path), "/proc/%d/exe", env_number("TASK_PID"));
	need(readlink(path, program, sizeof(program) - 1) > 0);
	at = entry(program, &offset);
	snprintf(path, sizeof(path), "/proc/%d/mem", env_number("TASK_PID"));
	mem = open(path, O_RDONLY);
	need(mem >= 0 && pread(mem, &before, sizeof(before), (off_t)at) == sizeof(before));
	snprintf(text, sizeof(text), "p:lab/lab_entry %s:0x%lx\n", program, offset);
	put(TRACING "uprobe_events", text);
	for (int i = 0; i < ROUNDS; i++) {
		put(ENABLE, "1");
		need(pread(mem, &now, sizeof(now), (off_t)at) == sizeof(now));
		planted += now == BREAKPOINT;
		put(ENABLE, "0");
		need(pread(mem, &now, sizeof(now), (off_t)at) == sizeof(now));
		restored += now == before;
	}
	put(TRACING "uprobe_events", "-:lab/lab_entry\n");
	answer(planted == ROUNDS && restored == ROUNDS, "done",
	       "%d probes in the task's text, %d gone from it, of %d",
	       planted, restored, ROUNDS);
}
