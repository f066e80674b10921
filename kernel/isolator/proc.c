// SPDX-License-Identifier: GPL-2.0-only
/*
 * Isolator: /proc/isolator, for people and scripts.  Writes to start, tick and
 * stop act on the writing thread.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/cpumask.h>
#include <linux/isolator.h>
#include <linux/kallsyms.h>
#include <linux/kernel.h>
#include <linux/proc_fs.h>
#include <linux/security.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/string_helpers.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>

#include "internal.h"

static const char *const isolator_end_names[] = {
	[ISOLATOR_END_NONE]	= "none",
	[ISOLATOR_END_STOP]	= "stop",
	[ISOLATOR_END_EXIT]	= "exit",
	[ISOLATOR_END_EXEC]	= "exec",
	[ISOLATOR_END_AFFINITY]	= "affinity",
	[ISOLATOR_END_HOTPLUG]	= "hotplug",
	[ISOLATOR_END_SYSTEM]	= "system",
	[ISOLATOR_END_ADMIN]	= "admin",
};

/*
 * May whoever opened the file see names and addresses, and change settings?  Not
 * the one that has the descriptor now, which may be a setuid program's.
 */
bool isolator_admin(const struct file *file)
{
	return !security_capable(file->f_cred, &init_user_ns, CAP_SYS_ADMIN,
				 CAP_OPT_NOAUDIT);
}

/**
 * isolator_func_name - a function's name as one word
 *
 * A module's name follows in brackets, without the blank of %ps.  Context: any.
 */
void isolator_func_name(char *name, size_t size, void *func)
{
	char *blank;

	snprintf(name, size, "%ps", func);
	blank = strchr(name, ' ');
	if (blank)
		memmove(blank, blank + 1, strlen(blank));
}

/** isolator_show_func - a callback's name as one word, "-" for none, "gone" with its module */
void isolator_show_func(struct seq_file *m, void *func)
{
	char name[KSYM_SYMBOL_LEN];

	if (!func) {
		seq_putc(m, '-');
		return;
	}
	if (func == ISOLATOR_FUNC_GONE) {
		seq_puts(m, "gone");
		return;
	}
	isolator_func_name(name, sizeof(name), func);
	seq_puts(m, name);
}

/** isolator_show_comm - a task's name, which may hold anything, as printable ASCII */
void isolator_show_comm(struct seq_file *m, const char *comm)
{
	seq_escape_str(m, comm, ESCAPE_OCTAL | ESCAPE_NAP | ESCAPE_APPEND, "\\");
}

/* As the reader sees it; 0 where it does not, or the isolation just ended. */
static pid_t isolator_owner_pid(struct isolator_cpu *ic)
{
	pid_t pid = 0;

	raw_spin_lock_irq(&isolator_lock);
	if (ic->owner)
		pid = task_pid_vnr(ic->owner);
	raw_spin_unlock_irq(&isolator_lock);
	return pid;
}

static int isolator_status_show(struct seq_file *m, void *v)
{
	int cpu;

	seq_printf(m, "version 1\nallowed %*pbl\nisolated %*pbl\n",
		   cpumask_pr_args(&isolator_allowed),
		   cpumask_pr_args(&isolator_cpumask));
	for_each_possible_cpu(cpu) {
		struct isolator_cpu *ic = isolator_of(cpu);

		if (cpumask_test_cpu(cpu, &isolator_cpumask)) {
			seq_printf(m, "cpu %d isolated mask %#x got %#x depth %u",
				   cpu, ic->mask, ic->got, ic->depth);
			if (ic->deadline == ISOLATOR_DEADLINE_NEVER)
				seq_puts(m, " deadline_ns never");
			else
				seq_printf(m, " deadline_ns %llu", ic->deadline);
			seq_printf(m, " spin_ns %llu yield_ns %llu batch_ns %llu auto_tick %d",
				   ic->spin, ic->yield_ns, ic->batch_ns, ic->auto_tick);
			seq_printf(m, " quarantine %d quarantine_bytes %llu",
				   !!READ_ONCE(ic->quarantine), isolator_quarantine_bytes(ic));
			seq_printf(m, " owner %d", isolator_owner_pid(ic));
			/* Sampled by others it would tell when the task makes system calls. */
			if (isolator_admin(m->file))
				seq_printf(m, " user %d", isolator_quiet(cpu));
			seq_printf(m, " started_ns %llu\n", ic->started);
		} else if (ic->end != ISOLATOR_END_NONE) {
			seq_printf(m, "cpu %d ended %s started_ns %llu\n", cpu,
				   isolator_end_names[ic->end], ic->started);
		}
	}
	return 0;
}

static int isolator_proc_senders(struct seq_file *m, void *v)
{
	int cpu;

	if (!isolator_admin(m->file))
		return -EPERM;
	for_each_possible_cpu(cpu)
		isolator_senders_show(m, isolator_of(cpu));
	return 0;
}

static void isolator_show_delivery(struct seq_file *m, int cpu,
				   const struct isolator_delivery *b)
{
	unsigned int i;

	seq_printf(m, "cpu %d %s kind %s at_ns %llu waited_ns %llu", cpu,
		   b->immediate ? "immediate" : "deadline_miss", isolator_kind_names[b->kind],
		   b->when, b->waited);
	if (!isolator_admin(m->file)) {
		seq_putc(m, '\n');
		return;
	}
	seq_puts(m, " callback ");
	isolator_show_func(m, b->request.func);
	seq_printf(m, " caller %pS sender_cpu %d pid %d comm ",
		   (void *)b->request.caller, b->request.cpu, b->request.pid);
	isolator_show_comm(m, b->request.comm);
	seq_putc(m, '\n');
	for (i = 0; i < b->nr_stack; i++)
		seq_printf(m, "  %pS\n", (void *)b->stack[i]);
}

static int isolator_deliveries_show(struct seq_file *m, void *v)
{
	struct isolator_delivery *copy;
	int cpu;

	copy = kmalloc(sizeof(*copy), GFP_KERNEL);
	if (!copy)
		return -ENOMEM;
	for_each_possible_cpu(cpu) {
		struct isolator_cpu *ic = isolator_of(cpu);
		unsigned int i, last = READ_ONCE(ic->nr_deliveries);

		i = last > ISOLATOR_DELIVERIES ? last - ISOLATOR_DELIVERIES : 0;
		for (; i < last; i++) {
			bool there;

			raw_spin_lock_irq(&ic->lock);
			/* A start may have emptied the list meanwhile. */
			there = i < ic->nr_deliveries;
			*copy = ic->deliveries[i % ISOLATOR_DELIVERIES];
			raw_spin_unlock_irq(&ic->lock);
			if (!there)
				break;
			isolator_show_delivery(m, cpu, copy);
		}
	}
	kfree(copy);
	return 0;
}

/* For what is only written. */
static int isolator_nothing_show(struct seq_file *m, void *v)
{
	return 0;
}

static int isolator_cpus_show(struct seq_file *m, void *v)
{
	seq_printf(m, "%*pbl\n", cpumask_pr_args(&isolator_allowed));
	return 0;
}

static int isolator_write_cpus(char *text)
{
	cpumask_var_t mask;
	int ret;

	if (!alloc_cpumask_var(&mask, GFP_KERNEL))
		return -ENOMEM;
	ret = cpulist_parse(text, mask);
	if (!ret)
		ret = isolator_set_allowed(mask);
	free_cpumask_var(mask);
	return ret;
}

static int isolator_limits_show(struct seq_file *m, void *v)
{
	seq_printf(m, "deadline_ns %llu\nspin_ns %llu\nperf %s\nmsr %s\nquarantine_bytes %llu\n",
		   READ_ONCE(isolator_limits.deadline),
		   READ_ONCE(isolator_limits.spin),
		   READ_ONCE(isolator_limits.refuse_perf) ? "refuse" : "queue",
		   READ_ONCE(isolator_limits.refuse_msr) ? "refuse" : "queue",
		   READ_ONCE(isolator_limits.quarantine));
	return 0;
}

static int isolator_write_limit(u64 *limit, const char *text, u64 min, u64 max)
{
	u64 value;
	int ret = kstrtou64(text, 0, &value);

	if (ret)
		return ret;
	if (value < min || value > max)
		return -ERANGE;
	WRITE_ONCE(*limit, value);
	smp_mb(); /* then who is isolated, if that is looked for: pairs with isolator_take_cpu() */
	return 0;
}

/* One line of what limits shows; what is isolated already stays as it is. */
static int isolator_write_limits(char *text)
{
	const char *name = strsep(&text, " ");

	if (!text)
		return -EINVAL;
	if (!strcmp(name, "deadline_ns"))
		return isolator_write_limit(&isolator_limits.deadline, text,
					    ISOLATOR_DEADLINE_MIN, ISOLATOR_DEADLINE_MAX);
	if (!strcmp(name, "spin_ns"))
		return isolator_write_limit(&isolator_limits.spin, text,
					    ISOLATOR_DEADLINE_MIN, ISOLATOR_SPIN_MAX);
	if (!strcmp(name, "quarantine_bytes"))
		return isolator_write_limit(&isolator_limits.quarantine, text,
					    0, isolator_quarantine_max());
	if (strcmp(text, "refuse") && strcmp(text, "queue"))
		return -EINVAL;
	if (!strcmp(name, "perf"))
		WRITE_ONCE(isolator_limits.refuse_perf, !strcmp(text, "refuse"));
	else if (!strcmp(name, "msr"))
		WRITE_ONCE(isolator_limits.refuse_msr, !strcmp(text, "refuse"));
	else
		return -EINVAL;
	return 0;
}

/* A new round of longest waits; the counters only grow. */
static int isolator_write_stats(char *text)
{
	int cpu;

	if (strcmp(text, "reset longest"))
		return -EINVAL;
	for_each_possible_cpu(cpu) {
		isolator_reset_longest(isolator_of(cpu));
		isolator_senders_reset_longest(isolator_of(cpu));
	}
	return 0;
}

static int isolator_write_start(char *text)
{
	struct isolator_start_args args = { .size = sizeof(args) };
	int ret = kstrtou32(text, 0, &args.mask);

	return ret ?: isolator_begin(&args);
}

static int isolator_write_tick(char *text)
{
	struct isolator_tick_args args = { .size = sizeof(args) };
	int ret = kstrtou32(text, 0, &args.flags);

	return ret ?: isolator_do_tick(&args);
}

static int isolator_write_stop(char *text)
{
	struct isolator_stop_args args = { .size = sizeof(args) };

	if (*text)
		return -EINVAL;
	return isolator_stop_one(&args);
}

#ifdef CONFIG_ISOLATOR_FAULTS
enum isolator_fault isolator_planted_fault;

static const char *const isolator_fault_names[ISOLATOR_FAULTS] = {
	[ISOLATOR_FAULT_NONE]		= "none",
	[ISOLATOR_FAULT_SKIP_DEFERRED]	= "skip_deferred",
	[ISOLATOR_FAULT_DROP_QUEUED]	= "drop_queued",
	[ISOLATOR_FAULT_LOSE_WAKEUP]	= "lose_wakeup",
	[ISOLATOR_FAULT_NO_YIELD]	= "no_yield",
	[ISOLATOR_FAULT_LEAVE_CALLBACK]	= "leave_callback",
	[ISOLATOR_FAULT_QUEUE_EXCLUDED]	= "queue_excluded",
	[ISOLATOR_FAULT_KEEP_REMOTE]	= "keep_remote",
	[ISOLATOR_FAULT_ALLOW_READERS]	= "allow_readers",
	[ISOLATOR_FAULT_QUEUE_IMMEDIATE]	= "queue_immediate",
	[ISOLATOR_FAULT_SLOW_START]	= "slow_start",
	[ISOLATOR_FAULT_IGNORE_GATE]	= "ignore_gate",
	[ISOLATOR_FAULT_OPEN_GATE]	= "open_gate",
	[ISOLATOR_FAULT_FENCE_KERNEL]	= "fence_kernel",
	[ISOLATOR_FAULT_FREE_REMOVED]	= "free_removed",
	[ISOLATOR_FAULT_REUSE_REMOVED]	= "reuse_removed",
	[ISOLATOR_FAULT_LIST_LATE]	= "list_late",
	[ISOLATOR_FAULT_NO_ENTRY_SYNC]	= "no_entry_sync",
	[ISOLATOR_FAULT_WATCH_SECTION]	= "watch_section",
	[ISOLATOR_FAULT_FENCE_SECTION]	= "fence_section",
	[ISOLATOR_FAULT_NO_NOW]		= "no_now",
	[ISOLATOR_FAULT_LATE_STOPPER]	= "late_stopper",
	[ISOLATOR_FAULT_NO_KICK]	= "no_kick",
	[ISOLATOR_FAULT_BORROW_TABLES]	= "borrow_tables",
	[ISOLATOR_FAULT_SPLIT_LATE]	= "split_late",
	[ISOLATOR_FAULT_MISS_PARK]	= "miss_park",
	[ISOLATOR_FAULT_TRUST_WORD]	= "trust_word",
	[ISOLATOR_FAULT_FAR_EVENT]	= "far_event",
};

static int isolator_fault_show(struct seq_file *m, void *v)
{
	seq_printf(m, "%s\n", isolator_fault_names[isolator_planted_fault]);
	return 0;
}

static int isolator_write_fault(char *text)
{
	int fault;

	fault = match_string(isolator_fault_names, ISOLATOR_FAULTS, text);
	if (fault < 0)
		return fault;
	WRITE_ONCE(isolator_planted_fault, fault);
	return 0;
}
#endif

/*
 * One table: a file's name, its mode, how it is read and how it is written, and
 * whether that acts on the writing thread, which any with the right to isolate may,
 * or is a setting, which is the administrator's.
 */
struct isolator_file {
	const char	*name;
	umode_t		mode;
	int		(*show)(struct seq_file *m, void *v);
	int		(*write)(char *text);
	bool		own;
};

static const struct isolator_file isolator_files[] = {
	{ "status",	0444, isolator_status_show,	NULL },
	{ "stats",	0644, isolator_stats_show,	isolator_write_stats },
	{ "senders",	0400, isolator_proc_senders,	NULL },
	{ "deliveries",	0444, isolator_deliveries_show,	NULL },
	{ "cpus",	0644, isolator_cpus_show,	isolator_write_cpus },
	{ "limits",	0644, isolator_limits_show,	isolator_write_limits },
	{ "start",	0200, isolator_nothing_show,	isolator_write_start, true },
	{ "tick",	0200, isolator_nothing_show,	isolator_write_tick, true },
	{ "stop",	0200, isolator_nothing_show,	isolator_write_stop, true },
#ifdef CONFIG_ISOLATOR_FLOOD
	{ "flood",	0600, isolator_flood_show,	isolator_flood_write },
	{ "stops",	0600, isolator_stops_show,	isolator_stops_write },
#endif
#ifdef CONFIG_ISOLATOR_FAULTS
	{ "fault",	0600, isolator_fault_show,	isolator_write_fault },
#endif
};

static int isolator_open(struct inode *inode, struct file *file)
{
	const struct isolator_file *f = pde_data(inode);

	return single_open(file, f->show, NULL);
}

static ssize_t isolator_write(struct file *file, const char __user *buf,
			      size_t len, loff_t *pos)
{
	const struct isolator_file *f = pde_data(file_inode(file));
	char *text;
	int ret;

	if (!f->write)
		return -EINVAL;
	if (!f->own && !isolator_admin(file))
		return -EPERM;
	if (!len)
		return 0;
	if (len >= PAGE_SIZE)
		return -E2BIG;
	text = memdup_user_nul(buf, len);
	if (IS_ERR(text))
		return PTR_ERR(text);
	ret = f->write(strim(text));
	kfree(text);
	return ret ?: len;
}

static const struct proc_ops isolator_proc_ops = {
	.proc_open	= isolator_open,
	.proc_read	= seq_read,
	.proc_lseek	= seq_lseek,
	.proc_write	= isolator_write,
	.proc_release	= single_release,
};

/** isolator_proc_init - create /proc/isolator; 0 or -ENOMEM */
int isolator_proc_init(void)
{
	struct proc_dir_entry *dir = proc_mkdir("isolator", NULL);
	size_t i;

	if (!dir)
		return -ENOMEM;
	for (i = 0; i < ARRAY_SIZE(isolator_files); i++) {
		const struct isolator_file *f = &isolator_files[i];

		if (!proc_create_data(f->name, f->mode, dir, &isolator_proc_ops,
				      (void *)f)) {
			proc_remove(dir);
			return -ENOMEM;
		}
	}
	return 0;
}
