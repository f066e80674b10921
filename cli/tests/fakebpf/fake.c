// SPDX-License-Identifier: GPL-2.0-or-later
#include "fake.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/kernel.h"
#include "bpf/record.h"

#define VALUES 96
#define KEY_MOST 32
#define VALUE_MOST 8192

static struct value {
	const void *map;	/* NULL: nothing is here */
	unsigned char key[KEY_MOST];
	_Alignas(8) unsigned char value[VALUE_MOST];
} values[VALUES];

static struct record_loss losses[FAKE_TOLD];
static bool amid;

struct fake fake = { .losses = losses };

void fake_reset(void)
{
	for (size_t i = 0; i < VALUES; i++)
		values[i].map = NULL;
	fake = (struct fake){ .losses = losses };
	amid = false;
}

void *fake_value(const void *map, unsigned int index, const void **key)
{
	for (size_t i = 0; i < VALUES; i++)
		if (values[i].map == map && !index--) {
			*key = values[i].key;
			return values[i].value;
		}
	return NULL;
}

/* An interrupt that is due comes, and ends. */
static void step(bool call)
{
	if (fake.ticks)
		fake.now++;
	if (amid || fake.masked || (fake.calls && !call))
		return;
	fake.step++;
	for (size_t i = 0; i < 2; i++)
		if (fake.at[i] == fake.step) {
			fake.met[i] = fake.program;
			amid = true;
			fake.interrupt();
			amid = false;
		}
}

static struct value *find(const struct fake_map *map, const void *key)
{
	for (size_t i = 0; i < VALUES; i++)
		if (values[i].map == map->map && !memcmp(values[i].key, key, map->key))
			return &values[i];
	return NULL;
}

static struct value *make(const struct fake_map *map, const void *key, const void *value)
{
	for (size_t i = 0; i < VALUES; i++)
		if (!values[i].map) {
			values[i].map = map->map;
			memcpy(values[i].key, key, map->key);
			if (value)
				memcpy(values[i].value, value, map->value);
			else
				memset(values[i].value, 0, map->value);
			return &values[i];
		}
	fprintf(stderr, "fake: more than %d values\n", VALUES);
	abort();
}

void *fake_lookup(struct fake_map map, const void *key)
{
	struct value *found;

	step(true);
	found = find(&map, key);
	if (!found && map.array)
		found = make(&map, key, NULL);
	step(true);
	return found ? found->value : NULL;
}

long fake_update(struct fake_map map, const void *key, const void *value, bool only_new)
{
	struct value *found;
	long error = 0;

	step(true);
	found = find(&map, key);
	if (!found)
		make(&map, key, value);
	else if (only_new)
		error = -EEXIST;
	else
		memcpy(found->value, value, map.value);
	step(true);
	return error;
}

long fake_delete(struct fake_map map, const void *key)
{
	struct value *found;

	step(true);
	found = find(&map, key);
	if (found)
		found->map = NULL;
	step(true);
	return found ? 0 : -ENOENT;
}

long fake_tell(const void *data, size_t size)
{
	step(true);
	if (fake.told == FAKE_TOLD)
		return -EAGAIN;
	memset(&losses[fake.told], 0, sizeof(losses[0]));
	memcpy(&losses[fake.told++], data, size);
	step(true);
	return 0;
}

long fake_stack(void)
{
	return -EEXIST;
}

__u64 fake_clock(void)
{
	__u64 now;

	step(true);
	now = fake.now;
	step(true);
	return now;
}

__u32 fake_processor(void)
{
	step(true);
	return fake.cpu;
}

struct task_struct *fake_task(void)
{
	step(true);
	return fake.task;
}

__u64 fake_pid_tgid(void)
{
	return (__u64)fake.task->tgid << 32 | (__u32)fake.task->pid;
}

long fake_comm(void *to, size_t size)
{
	return fake_text(to, size, fake.task->comm);
}

long fake_text(void *to, size_t size, const void *from)
{
	step(true);
	snprintf(to, size, "%s", (const char *)from);
	step(true);
	return 0;
}

/*
 * The programs are compiled as for ThreadSanitizer, and these stand in for it: they are called
 * before each access to memory.
 */
#define ACCESS(name, ...) \
	void __tsan_##name(void *at, ##__VA_ARGS__); \
	void __tsan_##name(void *at, ##__VA_ARGS__) { (void)at; step(false); }
#define SIZES(name) ACCESS(name##1) ACCESS(name##2) ACCESS(name##4) ACCESS(name##8) ACCESS(name##16)
#define RANGE(name) \
	void __tsan_##name(void *at, long size); \
	void __tsan_##name(void *at, long size) { (void)at; (void)size; step(false); }
#define FUNCTION(name) \
	void __tsan_##name(void *from); \
	void __tsan_##name(void *from) { (void)from; }

SIZES(read)
SIZES(write)
SIZES(unaligned_read)
SIZES(unaligned_write)
RANGE(read_range)
RANGE(write_range)
FUNCTION(func_entry)
FUNCTION(func_exit)

void __tsan_init(void);
void __tsan_init(void)
{
}

/* As the compiler declares it, where it has sanitizers of its own too. */
unsigned long __tsan_atomic64_fetch_add(volatile void *at, unsigned long value, int order);
unsigned long __tsan_atomic64_fetch_add(volatile void *at, unsigned long value, int order)
{
	(void)order;
	step(false);
	return __atomic_fetch_add((volatile unsigned long *)at, value, __ATOMIC_SEQ_CST);
}
