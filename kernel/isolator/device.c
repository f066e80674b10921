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

static long isolator_ioctl_start(void __user *arg)
{
	struct isolator_start_args args;
	int ret;

	if (copy_from_user(&args, arg, sizeof(args)))
		return -EFAULT;
	ret = isolator_begin(&args);
	if (ret)
		return ret;
	if (copy_to_user(arg, &args, sizeof(args))) {
		/* The caller cannot know what it got: undo it. */
		struct isolator_stop_args stop = { .size = sizeof(stop) };

		isolator_finish(&stop);
		return -EFAULT;
	}
	return 0;
}

static long isolator_ioctl_tick(void __user *arg)
{
	struct isolator_tick_args args;
	int ret;

	if (copy_from_user(&args, arg, sizeof(args)))
		return -EFAULT;
	ret = isolator_do_tick(&args);
	if (ret)
		return ret;
	return copy_to_user(arg, &args, sizeof(args)) ? -EFAULT : 0;
}

static long isolator_ioctl_stop(void __user *arg)
{
	struct isolator_stop_args args;
	int ret;

	if (copy_from_user(&args, arg, sizeof(args)))
		return -EFAULT;
	ret = isolator_finish(&args);
	if (ret)
		return ret;
	return copy_to_user(arg, &args, sizeof(args)) ? -EFAULT : 0;
}

static long isolator_ioctl_task(unsigned int cmd, struct isolator_task_args __user *arg)
{
	struct isolator_task_args args;
	int ret;

	if (copy_from_user(&args, arg, sizeof(args)))
		return -EFAULT;
	if (cmd == ISOLATOR_IOC_STOP_TASK)
		return isolator_stop_task(&args);
	ret = isolator_start_task(&args);
	if (ret)
		return ret;
	return copy_to_user(arg, &args, sizeof(args)) ? -EFAULT : 0;
}

static long isolator_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	switch (cmd) {
	case ISOLATOR_IOC_START:
		return isolator_ioctl_start((void __user *)arg);
	case ISOLATOR_IOC_TICK:
		return isolator_ioctl_tick((void __user *)arg);
	case ISOLATOR_IOC_STOP:
		return isolator_ioctl_stop((void __user *)arg);
	case ISOLATOR_IOC_START_TASK:
	case ISOLATOR_IOC_STOP_TASK:
		return isolator_ioctl_task(cmd, (void __user *)arg);
	}
	return -ENOTTY;
}

/*
 * The page of the calling thread's isolation, read-only for good, neither
 * inherited by fork nor dumped.  The mapping keeps it beyond the end.
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
	raw_spin_lock_irq(&ic->lock);
	if (ic->page) {
		page = virt_to_page(ic->page);
		get_page(page);
	}
	raw_spin_unlock_irq(&ic->lock);
	if (!page)
		return -ECANCELED;
	vm_flags_mod(vma, VM_DONTCOPY | VM_DONTDUMP | VM_DONTEXPAND,
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
