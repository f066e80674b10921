// SPDX-License-Identifier: GPL-2.0-or-later
/* /dev/isolator_scope: the task that blocks, and the one that polls (isolator_scope.h). */
#include <linux/fs.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "scope.h"

#define PART (8UL << 10)	/* of the lines page: the header, or one line */

/* One that is open, or mapped. */
struct opened {
	struct list_head list;		/* in scope->files, under its lock */
	struct scope *scope;
	struct address_space *mapping;	/* there as long as the file is */
};

static struct scope *scope_of(const struct file *file)
{
	return ((struct opened *)file->private_data)->scope;
}

static int scope_open(struct inode *inode, struct file *file)
{
	/* misc_open() holds its lock against misc_deregister(): the scope is there. */
	struct scope *scope = container_of(file->private_data, struct scope, misc);
	struct opened *opened = kzalloc(sizeof(*opened), GFP_KERNEL);

	if (!opened)
		return -ENOMEM;
	kref_get(&scope->kref);
	opened->scope = scope;
	opened->mapping = file->f_mapping;
	mutex_lock(&scope->lock);
	list_add(&opened->list, &scope->files);
	mutex_unlock(&scope->lock);
	file->private_data = opened;
	return nonseekable_open(inode, file);
}

static int scope_release(struct inode *inode, struct file *file)
{
	struct opened *opened = file->private_data;
	struct scope *scope = opened->scope;

	mutex_lock(&scope->lock);
	list_del(&opened->list);
	if (scope->reader == file)
		scope->reader = NULL;
	mutex_unlock(&scope->lock);
	kfree(opened);
	scope_put(scope);
	return 0;
}

void scope_unmap(struct scope *scope, loff_t from)
{
	struct opened *opened;

	lockdep_assert_held(&scope->lock);
	list_for_each_entry(opened, &scope->files, list)
		unmap_mapping_range(opened->mapping, from, 0, 1);
}

/* 1: there is one in @sequence; 0: there is none now; or an error. */
static int take(struct scope *scope, struct file *file, u32 *sequence)
{
	struct scope_mechanism *m = &scope->mechanism[SCOPE_USER];
	int found;

	if (mutex_lock_interruptible(&scope->lock))
		return -ERESTARTSYS;
	if (scope->gone) {
		found = -ENODEV;
	} else if (scope->reader && scope->reader != file) {
		found = -EBUSY;
	} else {
		/* What came while nobody read is nobody's. */
		if (!scope->reader)
			while (scope_queue_take(m, sequence))
				;
		scope->reader = file;
		found = scope_queue_take(m, sequence);
		if (found) {
			scope->read = *sequence;
			scope->answered = 0;
		}
	}
	mutex_unlock(&scope->lock);
	return found;
}

static ssize_t scope_read(struct file *file, char __user *buffer, size_t size, loff_t *at)
{
	struct scope *scope = scope_of(file);
	struct scope_mechanism *m = &scope->mechanism[SCOPE_USER];
	u32 sequence;
	int found;

	if (size < sizeof(sequence))
		return -EINVAL;
	for (;;) {
		found = take(scope, file, &sequence);
		if (found)
			break;
		if (file->f_flags & O_NONBLOCK)
			return -EAGAIN;
		if (swait_event_interruptible_exclusive(m->wait, scope_queue_any(m) ||
							READ_ONCE(scope->gone)))
			return -ERESTARTSYS;
	}
	if (found < 0)
		return found;
	return copy_to_user(buffer, &sequence, sizeof(sequence)) ? -EFAULT : sizeof(sequence);
}

static int answer(struct scope *scope, struct file *file, u32 sequence)
{
	struct scope_mechanism *m = &scope->mechanism[SCOPE_USER];

	lockdep_assert_held(&scope->lock);
	if (scope->gone)
		return -ENODEV;
	if (m->line < 0)
		return -ENOENT;
	if (scope->reader != file || !sequence || sequence != scope->read ||
	    sequence == scope->answered)
		return -ESTALE;
	scope->answered = sequence;
	scope_answer(m, sequence);
	return 0;
}

static long scope_ioctl(struct file *file, unsigned int command, unsigned long argument)
{
	struct scope *scope = scope_of(file);
	u32 sequence;
	int error;

	if (command != SCOPE_IOC_ANSWER)
		return -ENOTTY;
	if (copy_from_user(&sequence, (void __user *)argument, sizeof(sequence)))
		return -EFAULT;
	if (mutex_lock_interruptible(&scope->lock))
		return -ERESTARTSYS;
	error = answer(scope, file, sequence);
	mutex_unlock(&scope->lock);
	return error;
}

static char scope_poll;	/* what a map of the line of "poll" is known by */

/* A page at a time, so that the end of the device can take all of them back. */
static vm_fault_t scope_fault(struct vm_fault *fault)
{
	struct scope *scope = scope_of(fault->vma->vm_file);
	bool poll = fault->vma->vm_private_data == &scope_poll;
	/* Not from the beginning of the map, which may be the rest of a larger one. */
	pgoff_t page = fault->pgoff - ((poll ? SCOPE_MAP_POLL : SCOPE_MAP_HEADER) >> PAGE_SHIFT);
	vm_fault_t result = VM_FAULT_SIGBUS;
	int line = -1;

	mutex_lock(&scope->lock);
	if (poll)
		line = scope->mechanism[SCOPE_POLL].line;
	if (!scope->gone && (!poll || line >= 0))
		result = vmf_insert_pfn(fault->vma, fault->address,
					PHYS_PFN(scope->backend->memory(scope, line)) + page);
	mutex_unlock(&scope->lock);
	return result;
}

static const struct vm_operations_struct scope_vm_ops = { .fault = scope_fault };

static int scope_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct scope *scope = scope_of(file);
	bool poll = vma->vm_pgoff == SCOPE_MAP_POLL >> PAGE_SHIFT, memory;

	mutex_lock(&scope->lock);
	/* The back end is gone when its device is. */
	memory = !scope->gone && scope->backend->memory;
	mutex_unlock(&scope->lock);
	if (!memory)
		return -ENODEV;
	if ((!poll && vma->vm_pgoff != SCOPE_MAP_HEADER >> PAGE_SHIFT) ||
	    vma->vm_end - vma->vm_start > PART)
		return -EINVAL;
	/* A copy of a line answers nobody, and there are no pages that could be copied. */
	if (!(vma->vm_flags & VM_MAYSHARE))
		return -EINVAL;
	if (!poll && vma->vm_flags & VM_WRITE)
		return -EACCES;
	if (!poll)
		vm_flags_clear(vma, VM_MAYWRITE);
	vm_flags_set(vma, VM_PFNMAP | VM_DONTEXPAND | VM_DONTDUMP | VM_DONTCOPY);
	vma->vm_private_data = poll ? &scope_poll : NULL;
	vma->vm_ops = &scope_vm_ops;
	return 0;
}

const struct file_operations scope_fops = {
	.owner = THIS_MODULE,
	.open = scope_open,
	.release = scope_release,
	.read = scope_read,
	.unlocked_ioctl = scope_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.mmap = scope_mmap,
};
