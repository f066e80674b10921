// SPDX-License-Identifier: LGPL-2.1-or-later
/* The memory of a pool: huge where it can be, near, locked, there before it is used. */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "pool.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE	23
#endif
/* Pages that one call of move_pages is asked about. */
#define BATCH			256
#define HUGE_DEFAULT		(2UL << 20)

static size_t round_up(size_t value, size_t to)
{
	return (value + to - 1) / to * to;
}

/* The number after @key at the beginning of a line of @path, 0 if there is none. */
static size_t number_in(const char *path, const char *key)
{
	FILE *file = fopen(path, "re");
	char line[256];
	size_t value = 0;

	if (!file)
		return 0;
	while (fgets(line, sizeof(line), file)) {
		if (strncmp(line, key, strlen(key)) != 0)
			continue;
		value = strtoull(line + strlen(key), NULL, 10);
		break;
	}
	fclose(file);
	return value;
}

static size_t hugetlb_size(void)
{
	return number_in("/proc/meminfo", "Hugepagesize:") * 1024;
}

static size_t thp_size(void)
{
	size_t size = number_in("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", "");

	return size ? size : HUGE_DEFAULT;
}

/* How much of the mapping is in transparent huge pages; 0 when it cannot be read. */
static uint64_t thp_bytes(uintptr_t begin, size_t length)
{
	FILE *file = fopen("/proc/self/smaps", "re");
	char line[512];
	bool inside = false;
	uint64_t bytes = 0;

	if (!file)
		return 0;
	while (fgets(line, sizeof(line), file)) {
		unsigned long long from, to, kib;

		if (sscanf(line, "%llx-%llx ", &from, &to) == 2)
			inside = from >= begin && to <= begin + length;
		else if (inside && sscanf(line, "AnonHugePages: %llu kB", &kib) == 1)
			bytes += kib * 1024;
	}
	fclose(file);
	return bytes < length ? bytes : length;
}

/* Whether each page of @step bytes is on @node. */
static bool is_local(char *address, size_t length, size_t step, int node)
{
	void *pages[BATCH];
	int status[BATCH];

	for (size_t at = 0; at < length;) {
		unsigned long count = 0;

		for (; count < BATCH && at < length; at += step)
			pages[count++] = address + at;
		/* A kernel without NUMA has but one node. */
		if (isolator_sys.move_pages(count, pages, status) < 0)
			return errno == ENOSYS;
		for (unsigned long i = 0; i < count; i++)
			if (status[i] != node)
				return false;
	}
	return true;
}

/*
 * Writes to each page, so that each is there and this process's own.  The advice
 * first: it fails where a write would kill.
 */
static int populate(char *address, size_t length)
{
	size_t page = page_size();

	if (isolator_sys.madvise(address, length, MADV_POPULATE_WRITE) < 0 && errno != EINVAL)
		return ENOMEM;
	for (size_t at = 0; at < length; at += page)
		*(volatile char *)(address + at) = 0;
	return 0;
}

/* Before the first touch: near, and not shared with a child, which would make the
 * next write to each page a fault.
 */
static int prepare(void *address, size_t length, int node)
{
	isolator_sys.mbind(address, length, node);
	return isolator_sys.madvise(address, length, MADV_DONTFORK) < 0 ? errno : 0;
}

/* Pages of hugetlbfs are never reclaimed: they need no lock. */
static int get_hugetlb(size_t wanted, struct pool_memory *memory)
{
	size_t huge = hugetlb_size();
	size_t length;
	void *address;

	/* Not for a pool that would waste more than it needs. */
	if (!huge || wanted < huge / 2)
		return ENOMEM;
	length = round_up(wanted, huge);
	address = isolator_sys.mmap(NULL, length, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
	if (address == MAP_FAILED)
		return ENOMEM;
	if (prepare(address, length, memory->node) || populate(address, length)) {
		isolator_memory_put(address, length);
		return ENOMEM;
	}
	memory->address = memory->outer = address;
	memory->length = memory->outer_length = length;
	memory->huge_bytes = length;
	memory->got = ISOLATOR_POOL_GOT_HUGETLB | ISOLATOR_POOL_GOT_LOCKED;
	if (is_local(address, length, huge, memory->node))
		memory->got |= ISOLATOR_POOL_GOT_LOCAL;
	return 0;
}

/*
 * An aligned mapping between two pages that nobody may touch: what runs over its
 * end is caught, and its figures in smaps are its own.
 */
static int map_aligned(size_t length, size_t align, char **aligned)
{
	size_t page = page_size();
	size_t room = length + align + 2 * page;
	char *all, *address, *begin, *end;
	int error;

	all = isolator_sys.mmap(NULL, room, PROT_NONE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (all == MAP_FAILED)
		return ENOMEM;
	address = (char *)round_up((uintptr_t)all + page, align);
	begin = address - page;
	end = address + length + page;
	if (isolator_sys.mmap(address, length, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED) {
		error = ENOMEM;
		goto unmap;
	}
	if ((begin > all && isolator_sys.munmap(all, (size_t)(begin - all)) < 0) ||
	    (end < all + room && isolator_sys.munmap(end, (size_t)(all + room - end)) < 0)) {
		error = ENOMEM;
		goto unmap;
	}
	*aligned = address;
	return 0;
unmap:
	/* Also where a part of it is gone already. */
	isolator_sys.munmap(all, room);
	return error;
}

static int get_pages(size_t wanted, unsigned int flags, struct pool_memory *memory)
{
	size_t align = RUN_BYTES > page_size() ? RUN_BYTES : page_size();
	size_t huge = flags & ISOLATOR_POOL_NO_HUGE ? 0 : thp_size();
	size_t length;
	char *address;
	int error;

	if (huge && wanted >= huge / 2)
		align = huge;
	length = round_up(wanted, align);
	error = map_aligned(length, align, &address);
	if (error)
		return error;
	isolator_sys.madvise(address, length, align == huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
	error = prepare(address, length, memory->node);
	if (!error && !(flags & ISOLATOR_POOL_NO_MLOCK)) {
		if (isolator_sys.mlock(address, length) < 0)
			error = errno == ENOMEM ? EAGAIN : errno;
		else
			memory->got |= ISOLATOR_POOL_GOT_LOCKED;
	}
	if (!error)
		error = populate(address, length);
	if (error) {
		isolator_memory_put(address - page_size(), length + 2 * page_size());
		return error;
	}
	/* What is small stays small: else khugepaged would move it later, a fault. */
	isolator_sys.madvise(address, length, MADV_NOHUGEPAGE);
	memory->address = address;
	memory->length = length;
	memory->outer = address - page_size();
	memory->outer_length = length + 2 * page_size();
	memory->huge_bytes = align == huge ? thp_bytes((uintptr_t)address, length) : 0;
	if (memory->huge_bytes == length)
		memory->got |= ISOLATOR_POOL_GOT_THP;
	if (is_local(address, length, page_size(), memory->node))
		memory->got |= ISOLATOR_POOL_GOT_LOCAL;
	return 0;
}

int isolator_memory_get(size_t wanted, unsigned int flags, struct pool_memory *memory)
{
	unsigned int cpu, node;

	*memory = (struct pool_memory){ 0 };
	if (getcpu(&cpu, &node) < 0)
		return errno;
	memory->node = (int)node;
	if (!(flags & ISOLATOR_POOL_NO_HUGE) && get_hugetlb(wanted, memory) == 0)
		return 0;
	return get_pages(wanted, flags, memory);
}

void isolator_memory_put(void *outer, size_t outer_length)
{
	isolator_sys.munmap(outer, outer_length);
}
