// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A polling loop of the kernel for the lab, with a pool and messages: in its quiet section it
 * echoes what comes by a channel, counts what comes by an inbox, and takes and gives objects.
 * What it is to do is written to /dev/lab_traffic:
 *
 *	channel FD	side B of that channel: each message is posted back
 *	inbox FD	receive of that inbox
 *	poster FD N	post numbers as poster N of that inbox, until it is told something else
 *	kernel N	a channel of the kernel's own: the writer has side A, and N messages echoed
 *	peer END	does anybody hold that end?  1 or 0 in the parameter answer
 *	sender N	what came of that poster: in the parameters sender_...
 *	nothing		close
 *	pool SIZE COUNT POISON
 *	pairs N		take an object and give it back
 *	churn N		N objects go to the writer by a channel, who returns them
 *	hostile N	the writer takes, gives and returns what is not its own
 *	begin, end	the writer isolates its CPU, with a pool and a channel of its own;
 *	work KIND N	a section of it: N times nothing (0), an object taken and given (1), a message
 *			posted and received (2), a look at a ring with nothing (3)
 */
#include <linux/completion.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/isolator_caller.h>
#include <linux/isolator_messages.h>
#include <linux/isolator_pool.h>
#include <linux/kthread.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sizes.h>
#include <linux/uaccess.h>

#include "traffic.h"

static int cpu = 1;
module_param(cpu, int, 0444);
MODULE_PARM_DESC(cpu, "the CPU of the polling thread; -1: none");

static unsigned int bound_us = 10000;
module_param(bound_us, uint, 0444);

static unsigned long ticks;
module_param(ticks, ulong, 0444);

static int started = -EINPROGRESS;
module_param(started, int, 0444);

static int answer;
module_param(answer, int, 0444);

static struct isolator_pool_stat pool_now;
#define POOL_PARAM(name) module_param_named(pool_##name, pool_now.name, ullong, 0444)
POOL_PARAM(allocs);
POOL_PARAM(frees);
POOL_PARAM(collected);
POOL_PARAM(returned);
POOL_PARAM(empty);
POOL_PARAM(foreign);
POOL_PARAM(invalid);
POOL_PARAM(doubled);
POOL_PARAM(overwritten);
module_param_named(pool_free, pool_now.free, uint, 0444);

/* One order at a time, from the device to the thread. */
static DEFINE_MUTEX(mutex);
static DECLARE_COMPLETION(ordered);
static int (*order)(struct isolator_caller *caller);
static int order_result;
static struct isolator_port *order_port;
static enum work order_work;
static unsigned long order_left;
static unsigned int order_size, order_count, order_flags;

static struct task_struct *poller;

/* Orders: by the thread, out of its section.  After its isolation it refuses them. */
static int order_nothing(struct isolator_caller *caller)
{
	isolator_port_close(now.port);
	now.port = NULL;
	now.work = WORK_NONE;
	return 0;
}

static int order_traffic(struct isolator_caller *caller)
{
	order_nothing(caller);
	if (order_port && isolator_port_use(order_port))
		return -EBUSY;
	traffic_begin(order_work, order_port, order_left);
	return 0;
}

static int order_pool(struct isolator_caller *caller)
{
	struct isolator_pool *pool;
	int ret;

	order_nothing(caller);
	ret = isolator_pool_destroy(now.pool);
	if (ret)
		return ret;
	now.pool = NULL;
	if (!order_size)
		return 0;
	pool = isolator_pool_create(caller, order_size, order_count, order_flags);
	if (!IS_ERR(pool))
		now.pool = pool;
	return PTR_ERR_OR_ZERO(pool);
}

static void obey(struct isolator_caller *caller, int refusal)
{
	/* Pairs with tell(). */
	int (*what)(struct isolator_caller *caller) = smp_load_acquire(&order);

	if (!what)
		return;
	order_result = refusal ?: what(caller);
	WRITE_ONCE(order, NULL);
	complete(&ordered);
}

static int poll_thread(void *unused)
{
	struct isolator_caller caller;
	int ret;

	ret = isolator_kernel_start(&caller, (u64)bound_us * NSEC_PER_USEC);
	WRITE_ONCE(started, ret);
	while (!ret && !kthread_should_stop()) {
		if (kthread_should_park())
			kthread_parkme();
		obey(&caller, 0);
		ret = traffic_poll(&caller) ?: isolator_kernel_tick(&caller);
		if (ret == -EINTR && kthread_should_park())
			ret = 0;
		WRITE_ONCE(ticks, ticks + 1);
	}
	if (ret)
		WRITE_ONCE(started, ret);
	isolator_kernel_stop(&caller);
	order_nothing(&caller);
	while (!kthread_should_stop()) {
		if (kthread_should_park())
			kthread_parkme();
		obey(&caller, ret);
		set_current_state(TASK_INTERRUPTIBLE);
		if (!kthread_should_stop() && !kthread_should_park())
			schedule();
		__set_current_state(TASK_RUNNING);
	}
	return 0;
}

/* To park enters as to stop does: the section is left for it. */
static int tell(int (*what)(struct isolator_caller *caller))
{
	int ret;

	if (!poller)
		return -ENODEV;
	/* What is ordered comes before. */
	smp_store_release(&order, what);
	ret = kthread_park(poller);
	if (ret)
		return ret;
	kthread_unpark(poller);
	wait_for_completion(&ordered);
	return order_result;
}

static int tell_traffic(enum work work, struct isolator_port *port, unsigned long left)
{
	order_work = work;
	order_port = port;
	order_left = left;
	return tell(order_traffic);
}

/* User mode's rings, @end of them, for the thread. */
static int from_user(int fd, enum work work, unsigned int end)
{
	struct isolator_rings *rings;
	struct isolator_port *port;
	int ret = tell(order_nothing);

	if (ret)
		return ret;
	rings = isolator_rings_get(fd, SZ_64M);
	if (IS_ERR(rings))
		return PTR_ERR(rings);
	port = isolator_port_open(rings, end);
	isolator_rings_put(rings);
	if (IS_ERR(port))
		return PTR_ERR(port);
	ret = tell_traffic(work, port, 0);
	if (ret)
		isolator_port_close(port);
	return ret;
}

/* A channel with both of its ends in the kernel: the thread's, and the writer's. */
static struct isolator_port *between(enum work work, unsigned long left)
{
	struct isolator_rings *rings = isolator_rings_make(64, 0, 0);
	struct isolator_port *mine, *its;
	int ret;

	if (IS_ERR(rings))
		return ERR_CAST(rings);
	mine = isolator_port_open(rings, ISOLATOR_PORT_A);
	its = isolator_port_open(rings, ISOLATOR_PORT_B);
	isolator_rings_put(rings);
	ret = PTR_ERR_OR_ZERO(mine) ?: PTR_ERR_OR_ZERO(its);
	if (!ret)
		ret = isolator_port_use(mine) ?: tell_traffic(work, its, left);
	if (!ret)
		return mine;
	if (!IS_ERR(mine))
		isolator_port_close(mine);
	if (!IS_ERR(its))
		isolator_port_close(its);
	return ERR_PTR(ret);
}

/* Does nothing come any more?  So as not to wait for it. */
static int given_up(void)
{
	return fatal_signal_pending(current) ? -EINTR : READ_ONCE(started);
}

static int kernel_echo(unsigned long count)
{
	struct isolator_port *mine = between(WORK_ECHO, 0);
	u64 out = 0, in = 0, data[12] = { };
	struct isolator_message message;
	int ret = 0;

	if (IS_ERR(mine))
		return PTR_ERR(mine);
	while (!ret && in < count) {
		data[0] = out;
		data[11] = out;
		if (out < count && !isolator_port_post(mine, 1, data, out % 2 ? 8 : sizeof(data)))
			out++;
		if (isolator_port_receive(mine, &message) != 1) {
			cond_resched();
			ret = given_up();
			continue;
		}
		data[0] = in;
		data[11] = in;
		if (message.type != 1 || message.length != (in % 2 ? 8 : sizeof(data)) ||
		    memcmp(message.data, data, min(message.length, 8)) ||
		    (message.length > 8 && ((const u64 *)message.data)[11] != in))
			ret = -EBADMSG;
		in++;
	}
	isolator_port_close(mine);
	return tell(order_nothing) ?: ret;
}

static int pool_churn(unsigned long count)
{
	struct isolator_message message;
	struct isolator_port *mine;
	u64 in;
	void *object;
	int ret = 0;

	if (!now.pool)
		return -EINVAL;
	mine = between(WORK_CHURN, count);
	if (IS_ERR(mine))
		return PTR_ERR(mine);
	for (in = 0; !ret && in < count;) {
		if (isolator_port_receive(mine, &message) != 1) {
			cond_resched();
			ret = given_up();
			continue;
		}
		object = *(void *const *)message.data;
		if (READ_ONCE(*(u64 *)object) != in++)
			ret = -EBADMSG;
		ret = isolator_pool_return(now.pool, object) ?: ret;
	}
	isolator_port_close(mine);
	return tell(order_nothing) ?: ret;
}

/* All of this is refused, and @now.pool is the thread's all the while. */
static int pool_hostile(unsigned long count)
{
	u64 *object = isolator_pool_alloc(now.pool), somewhere;
	unsigned long i;

	if (object)
		return -EBADMSG;
	for (i = 0; i < count; i++)
		if (isolator_pool_free(now.pool, &somewhere) != -EPERM ||
		    isolator_pool_return(now.pool, &somewhere) != -EINVAL ||
		    isolator_pool_return(now.pool, (void *)(i * 64)) != -EINVAL)
			return -EBADMSG;
	return 0;
}

static int do_as_told(const char *text)
{
	unsigned int a, b, c;
	int ret;

	if (sscanf(text, "work %u %u", &a, &b) == 2)
		return traffic_own_work(a, b);
	if (sscanf(text, "channel %u", &a) == 1)
		return from_user(a, WORK_ECHO, ISOLATOR_PORT_B);
	if (sscanf(text, "inbox %u", &a) == 1)
		return from_user(a, WORK_LISTEN, ISOLATOR_PORT_RECEIVER);
	if (sscanf(text, "poster %u %u", &a, &b) == 2)
		return from_user(a, WORK_POST, b);
	if (sscanf(text, "kernel %u", &a) == 1)
		return kernel_echo(a);
	if (sscanf(text, "pool %u %u %u", &order_size, &order_count, &c) == 3) {
		order_flags = c ? ISOLATOR_POOL_POISON : 0;
		return tell(order_pool);
	}
	if (sscanf(text, "sender %u", &a) == 1)
		return traffic_tell_sender(a);
	if (sscanf(text, "peer %u", &a) == 1 && now.port) {
		ret = isolator_port_held(now.port, a);
		WRITE_ONCE(answer, ret);
		return ret < 0 ? ret : 0;
	}
	if (!strcmp(text, "nothing"))
		return tell(order_nothing);
	if (!strcmp(text, "begin"))
		return traffic_own_begin((u64)bound_us * NSEC_PER_USEC);
	if (!strcmp(text, "end")) {
		traffic_own_end();
		return 0;
	}
	if (!now.pool)
		return -EINVAL;
	/* It goes with the module: who looks at it here need not fear for it. */
	if (READ_ONCE(started))
		return -ENODEV;
	if (sscanf(text, "pairs %u", &a) == 1)
		return tell_traffic(WORK_PAIRS, NULL, a);
	if (sscanf(text, "churn %u", &a) == 1)
		return pool_churn(a);
	if (sscanf(text, "hostile %u", &a) == 1)
		return pool_hostile(a);
	return -EINVAL;
}

static ssize_t traffic_write(struct file *file, const char __user *from, size_t size, loff_t *pos)
{
	char text[64] = "";
	int ret;

	if (size >= sizeof(text))
		return -EINVAL;
	if (copy_from_user(text, from, size))
		return -EFAULT;
	mutex_lock(&mutex);
	ret = do_as_told(text);
	if (now.pool)
		isolator_pool_stat(now.pool, &pool_now);
	mutex_unlock(&mutex);
	return ret ?: size;
}

static const struct file_operations traffic_fops = {
	.owner	= THIS_MODULE,
	.write	= traffic_write,
};

static struct miscdevice traffic_device = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "lab_traffic",
	.fops	= &traffic_fops,
	.mode	= 0600,
};

static int __init traffic_init(void)
{
	int ret = misc_register(&traffic_device);

	if (ret || cpu == -1)
		return ret;
	ret = -EINVAL;
	if (cpu < 0 || cpu >= nr_cpu_ids || !cpu_online(cpu))
		goto deregister;
	poller = kthread_run_on_cpu(poll_thread, NULL, cpu, "lab_traffic");
	ret = PTR_ERR_OR_ZERO(poller);
	if (!ret)
		return 0;
	poller = NULL;
deregister:
	misc_deregister(&traffic_device);
	return ret;
}

static void __exit traffic_exit(void)
{
	if (poller)
		kthread_stop(poller);
	misc_deregister(&traffic_device);
	WARN_ON(isolator_pool_destroy(now.pool));
}

module_init(traffic_init);
module_exit(traffic_exit);
MODULE_DESCRIPTION("The lab's pool and messages of a polling loop");
MODULE_LICENSE("GPL");
