// SPDX-License-Identifier: GPL-2.0-only
/* Isolator: /dev/isolator, for programs.  It acts on the calling thread only. */
#include <linux/fs.h>
#include <linux/init.h>
#include <linux/isolator.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/uaccess.h>

#include "internal.h"

/* What every version has. */
#define ISOLATOR_START_FIRST	offsetofend(struct isolator_start_args, batch_ns)
#define ISOLATOR_TICK_FIRST	offsetofend(struct isolator_tick_args, yielded_ns)
#define ISOLATOR_STOP_FIRST	offsetofend(struct isolator_stop_args, depth)
#define ISOLATOR_TASK_FIRST	(offsetof(struct isolator_task_args, start) + \
				 ISOLATOR_START_FIRST)

/*
 * Structures grow at their end, and the number of a request has the caller's size
 * in it.  A newer caller is served as long as all that this kernel does not know
 * is 0; of an older one, what it does not know is.  The first field of each is its
 * size, which is this kernel's from here on.
 *
 * Returns 0, -EINVAL for another size, -E2BIG for what is not known, -EFAULT.
 */
static int isolator_copy_in(void *args, size_t known, size_t first, const void __user *from,
			    size_t size)
{
	u32 *said = args;
	int ret;

	if (size < first)
		return -EINVAL;
	ret = copy_struct_from_user(args, known, from, size);
	if (ret)
		return ret;
	if (*said != size)
		return -EINVAL;
	*said = known;
	return 0;
}

/* Its own size is what the caller finds again.  Returns 0 or -EFAULT. */
static int isolator_copy_out(void __user *to, size_t size, void *args, size_t known)
{
	u32 *said = args;

	*said = size;
	return copy_to_user(to, args, min(size, known)) ? -EFAULT : 0;
}

static long isolator_ioctl_start(void __user *arg, size_t size)
{
	struct isolator_start_args args;
	int ret;

	ret = isolator_copy_in(&args, sizeof(args), ISOLATOR_START_FIRST, arg, size);
	if (ret)
		return ret;
	ret = isolator_begin(&args);
	if (ret)
		return ret;
	ret = isolator_copy_out(arg, size, &args, sizeof(args));
	if (ret) {
		/* The caller cannot know what it got: undo it. */
		struct isolator_stop_args stop = { .size = sizeof(stop) };

		isolator_stop_one(&stop);
	}
	return ret;
}

static long isolator_ioctl_tick(void __user *arg, size_t size)
{
	struct isolator_tick_args args;
	int ret;

	ret = isolator_copy_in(&args, sizeof(args), ISOLATOR_TICK_FIRST, arg, size);
	if (ret)
		return ret;
	ret = isolator_do_tick(&args);
	if (ret)
		return ret;
	return isolator_copy_out(arg, size, &args, sizeof(args));
}

static long isolator_ioctl_stop(void __user *arg, size_t size)
{
	struct isolator_stop_args args;
	int ret;

	ret = isolator_copy_in(&args, sizeof(args), ISOLATOR_STOP_FIRST, arg, size);
	if (ret)
		return ret;
	ret = isolator_stop_one(&args);
	if (ret)
		return ret;
	return isolator_copy_out(arg, size, &args, sizeof(args));
}

/* The start within, at its end, grows with it. */
static long isolator_ioctl_task(bool stop, void __user *arg, size_t size)
{
	struct isolator_task_args args;
	u32 start = size - offsetof(struct isolator_task_args, start);
	int ret;

	ret = isolator_copy_in(&args, sizeof(args), ISOLATOR_TASK_FIRST, arg, size);
	if (ret)
		return ret;
	if (stop)
		return isolator_stop_task(&args);
	if (args.start.size != start)
		return -EINVAL;
	if (args.flags & ISOLATOR_TASK_WAIT) {
		/* As it came: who cannot be told what a start achieved starts nothing. */
		ret = isolator_copy_out(arg, size, &args, sizeof(args));
		if (ret)
			return ret;
		args.size = sizeof(args);
	}
	args.start.size = sizeof(args.start);
	ret = isolator_start_task(&args);
	if (ret || !(args.flags & ISOLATOR_TASK_WAIT))
		return ret;
	args.start.size = start;
	return isolator_copy_out(arg, size, &args, sizeof(args));
}

static long isolator_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	void __user *to = (void __user *)arg;
	size_t size = _IOC_SIZE(cmd);

	/* Without its size a request is told by the rest of its number. */
	switch (cmd & ~IOCSIZE_MASK) {
	case ISOLATOR_IOC_START & ~IOCSIZE_MASK:
		return isolator_ioctl_start(to, size);
	case ISOLATOR_IOC_TICK & ~IOCSIZE_MASK:
		return isolator_ioctl_tick(to, size);
	case ISOLATOR_IOC_STOP & ~IOCSIZE_MASK:
		return isolator_ioctl_stop(to, size);
	case ISOLATOR_IOC_START_TASK & ~IOCSIZE_MASK:
		return isolator_ioctl_task(false, to, size);
	case ISOLATOR_IOC_STOP_TASK & ~IOCSIZE_MASK:
		return isolator_ioctl_task(true, to, size);
	}
	return -ENOTTY;
}

/*
 * The page of the calling thread's isolation, read-only for good, neither
 * inherited by fork nor dumped.  As VM_IO it cannot be pinned either, and its
 * being left out of fork not undone.  The mapping keeps it beyond the end.
 */
static int isolator_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct isolator_cpu *ic;
	struct page *page = NULL;
	int ret;

	if (vma->vm_pgoff || vma_pages(vma) != 1)
		return -EINVAL;
	if (vma->vm_flags & (VM_WRITE | VM_EXEC))
		return -EPERM;
	ic = isolator_current();
	if (IS_ERR(ic))
		return PTR_ERR(ic);
	/* Ended meanwhile, the CPU may be another's: its page comes before its owner. */
	raw_spin_lock_irq(&ic->lock);
	if (isolator_running(ic) && ic->page) {
		page = virt_to_page(ic->page);
		get_page(page);
	}
	raw_spin_unlock_irq(&ic->lock);
	if (!page)
		return -ECANCELED;
	vm_flags_mod(vma, VM_IO | VM_DONTCOPY | VM_DONTDUMP | VM_DONTEXPAND,
		     VM_MAYWRITE | VM_MAYEXEC);
	ret = vm_insert_page(vma, vma->vm_start, page);
	put_page(page);
	return ret;
}

static const struct file_operations isolator_fops = {
	.owner		= THIS_MODULE,
	.unlocked_ioctl	= isolator_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
	.mmap		= isolator_mmap,
};

static struct miscdevice isolator_device = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "isolator",
	.fops	= &isolator_fops,
	.mode	= 0600,
};

static int __init isolator_device_init(void)
{
	return misc_register(&isolator_device);
}
device_initcall(isolator_device_init);
