// SPDX-License-Identifier: GPL-2.0-or-later
/* A scope from its beginning to its end, whatever the back end is. */
#include <linux/module.h>
#include <linux/slab.h>

#include "scope.h"

/* There is one /dev/isolator_scope: whose it is. */
static struct scope *the_one;

static irqreturn_t run_thread(int irq, void *data)
{
	struct scope *scope = data;

	scope_drain(&scope->mechanism[SCOPE_IRQ_THREAD]);
	return IRQ_HANDLED;
}

static void scope_free(struct kref *kref)
{
	kfree(container_of(kref, struct scope, kref));
}

void scope_put(struct scope *scope)
{
	kref_put(&scope->kref, scope_free);
}

static void unmap_all(struct scope *scope)
{
	mutex_lock(&scope->lock);
	for (int i = 0; i < SCOPE_MECHANISMS; i++)
		scope_mechanism_map(&scope->mechanism[i], -1);
	mutex_unlock(&scope->lock);
}

static int map_all(struct scope *scope)
{
	int error = 0;

	mutex_lock(&scope->lock);
	for (int i = 0; !error && i < SCOPE_MECHANISMS && i < scope->backend->nr_lines; i++) {
		error = scope_mechanism_map(&scope->mechanism[i], i);
		/* What this kernel does not have answers on no line. */
		if (error == -EOPNOTSUPP)
			error = 0;
	}
	mutex_unlock(&scope->lock);
	return error;
}

struct scope *scope_create(struct device *dev, const struct scope_backend *backend, void *lines,
			   int irq, irq_handler_t handler)
{
	struct scope *scope = kzalloc(sizeof(*scope), GFP_KERNEL);
	int error;

	if (!scope)
		return ERR_PTR(-ENOMEM);
	if (cmpxchg(&the_one, NULL, scope)) {
		dev_err(dev, "another device has /dev/isolator_scope: unbind its driver first\n");
		kfree(scope);
		return ERR_PTR(-EBUSY);
	}
	kref_init(&scope->kref);
	mutex_init(&scope->lock);
	INIT_LIST_HEAD(&scope->files);
	scope->dev = dev;
	scope->backend = backend;
	scope->lines = lines;
	scope->irq = -1;
	scope_mechanisms_init(scope);
	dev_set_drvdata(dev, scope);

	/* IRQF_NO_THREAD: the handler stays a hard one, on PREEMPT_RT too. */
	error = request_threaded_irq(irq, handler, run_thread, IRQF_NO_THREAD, "isolator_scope",
				     scope);
	if (error) {
		dev_err(dev, "cannot get interrupt %d: %d\n", irq, error);
		goto free;
	}
	scope->irq = irq;
	error = map_all(scope);
	if (error)
		goto unmap;
	scope->misc = (struct miscdevice){
		.minor = MISC_DYNAMIC_MINOR, .name = "isolator_scope", .fops = &scope_fops,
		.parent = dev, .groups = scope_groups, .mode = 0600,
	};
	error = misc_register(&scope->misc);
	if (error) {
		dev_err(dev, "/dev/isolator_scope cannot be made: %d\n", error);
		goto unmap;
	}
	dev_info(dev, "%u lines, interrupt %d\n", backend->nr_lines, irq);
	return scope;

unmap:
	unmap_all(scope);
	free_irq(irq, scope);
free:
	WRITE_ONCE(the_one, NULL);
	dev_set_drvdata(dev, NULL);
	scope_put(scope);
	return ERR_PTR(error);
}

void scope_destroy(struct scope *scope)
{
	struct swait_queue_head *wait = &scope->mechanism[SCOPE_USER].wait;

	misc_deregister(&scope->misc);
	WRITE_ONCE(the_one, NULL);
	unmap_all(scope);
	free_irq(scope->irq, scope);
	mutex_lock(&scope->lock);
	/* From here on no file touches a line; those that are open stay, and say so. */
	WRITE_ONCE(scope->gone, true);
	scope_unmap(scope, 0);
	mutex_unlock(&scope->lock);
	swake_up_all(wait);
	dev_set_drvdata(scope->dev, NULL);
	scope_put(scope);
}

static int __init scope_init(void)
{
	int error;

	scope_knobs_init();
	error = scope_ivshmem_init();
	if (error)
		return error;
	error = scope_gpio_init();
	if (error)
		scope_ivshmem_exit();
	return error;
}

static void __exit scope_exit(void)
{
	scope_gpio_exit();
	scope_ivshmem_exit();
}

module_init(scope_init);
module_exit(scope_exit);
MODULE_DESCRIPTION("Answers triggers from outside on a line for each mechanism of the kernel");
MODULE_AUTHOR("Isolator");
MODULE_LICENSE("GPL");
