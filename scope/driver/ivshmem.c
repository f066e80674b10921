// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The virtual back end: QEMU's ivshmem-doorbell device, whose peer is the generator. Lines
 * are words of the shared memory (scope_lines.h), the trigger is MSI-X vector 0.
 */
#include <linux/io.h>
#include <linux/module.h>
#include <linux/pci.h>

#include "scope.h"

#define BAR_MEMORY 2

struct ivshmem {
	struct scope_lines *lines;
	phys_addr_t from;
	u32 last;		/* the trigger that was seen last; the interrupt's */
	u64 offered;
};

static irqreturn_t on_trigger(int irq, void *data)
{
	struct scope *scope = data;
	struct ivshmem *shm = scope->lines;
	/* Pairs with the generator's release: what it wrote before is seen. */
	u32 sequence = smp_load_acquire(&shm->lines->trigger);

	/* Two interrupts that were merged leave the first without a trigger of its own. */
	if (!sequence || sequence == shm->last) {
		WRITE_ONCE(scope->spurious, scope->spurious + 1);
		return IRQ_HANDLED;
	}
	shm->last = sequence;
	return scope_trigger(scope, sequence);
}

static void ivshmem_answer(struct scope *scope, unsigned int number, u32 sequence)
{
	struct ivshmem *shm = scope->lines;

	scope_line_answer(&shm->lines->line[number], sequence);
}

static void ivshmem_offer(struct scope *scope, unsigned int line, const char *name)
{
	struct ivshmem *shm = scope->lines;

	if (!name) {
		shm->offered &= ~BIT_ULL(line);
		WRITE_ONCE(shm->lines->offered, shm->offered);
		return;
	}
	memset(shm->lines->names[line], 0, SCOPE_LINES_NAME);
	memcpy(shm->lines->names[line], name, strnlen(name, SCOPE_LINES_NAME));
	shm->offered |= BIT_ULL(line);
	/* The name is there before the line is offered. */
	smp_store_release(&shm->lines->offered, shm->offered);
}

static phys_addr_t ivshmem_memory(struct scope *scope, int line)
{
	struct ivshmem *shm = scope->lines;

	return shm->from + (line < 0 ? 0 : offsetof(struct scope_lines, line) +
			    (size_t)line * sizeof(struct scope_line));
}

static struct scope_lines *ivshmem_mapped(struct scope *scope)
{
	struct ivshmem *shm = scope->lines;

	return shm->lines;
}

static const struct scope_backend ivshmem_backend = {
	.nr_lines = SCOPE_LINES_MAX,
	.answer = ivshmem_answer,
	.offer = ivshmem_offer,
	.memory = ivshmem_memory,
	.mapped = ivshmem_mapped,
};

static int check(struct device *dev, const struct scope_lines *lines)
{
	/* Pairs with the generator's release: what it wrote before is there. */
	if (smp_load_acquire(&lines->magic) != SCOPE_LINES_MAGIC) {
		dev_info(dev, "no generator is at the other end of this shared memory\n");
		return -ENODEV;
	}
	if (lines->version == SCOPE_LINES_VERSION && lines->nr_lines == SCOPE_LINES_MAX &&
	    lines->ring_size == SCOPE_LINES_RING)
		return 0;
	dev_err(dev, "the generator has version %u of the lines, this driver %u\n",
		lines->version, SCOPE_LINES_VERSION);
	return -EPROTO;
}

static int ivshmem_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct device *dev = &pdev->dev;
	struct ivshmem *shm = devm_kzalloc(dev, sizeof(*shm), GFP_KERNEL);
	struct scope *scope;
	int error;

	if (!shm)
		return -ENOMEM;
	error = pcim_enable_device(pdev);
	if (error)
		return error;
	if (pci_resource_len(pdev, BAR_MEMORY) < SCOPE_LINES_SIZE) {
		dev_info(dev, "%llu bytes of shared memory are too few for the lines\n",
			 (unsigned long long)pci_resource_len(pdev, BAR_MEMORY));
		return -ENODEV;
	}
	shm->from = pci_resource_start(pdev, BAR_MEMORY);
	/* It is memory of the host: cached, as the other end has it. */
	shm->lines = devm_memremap(dev, shm->from, SCOPE_LINES_SIZE, MEMREMAP_WB);
	if (IS_ERR(shm->lines))
		return PTR_ERR(shm->lines);
	error = check(dev, shm->lines);
	if (error)
		return error;
	pci_set_master(pdev);
	error = pci_alloc_irq_vectors(pdev, 1, 1, PCI_IRQ_MSIX);
	if (error < 0)
		return error;
	/* The trigger of an earlier driver is none of ours. */
	shm->last = READ_ONCE(shm->lines->trigger);
	scope = scope_create(dev, &ivshmem_backend, shm, pci_irq_vector(pdev, 0), on_trigger);
	if (IS_ERR(scope)) {
		pci_free_irq_vectors(pdev);
		return PTR_ERR(scope);
	}
	/* What is offered, and by what name, is there before. */
	smp_store_release(&shm->lines->driver_generation,
			  max(READ_ONCE(shm->lines->driver_generation) + 1, 1u));
	return 0;
}

static void ivshmem_remove(struct pci_dev *pdev)
{
	scope_destroy(pci_get_drvdata(pdev));
	pci_free_irq_vectors(pdev);
	pci_clear_master(pdev);
}

static const struct pci_device_id ivshmem_ids[] = {
	{ PCI_DEVICE(PCI_VENDOR_ID_REDHAT_QUMRANET, 0x1110) },
	{ }
};
MODULE_DEVICE_TABLE(pci, ivshmem_ids);

static struct pci_driver ivshmem_driver = {
	.name = "isolator_scope",
	.id_table = ivshmem_ids,
	.probe = ivshmem_probe,
	.remove = ivshmem_remove,
};

int scope_ivshmem_init(void)
{
	return pci_register_driver(&ivshmem_driver);
}

void scope_ivshmem_exit(void)
{
	pci_unregister_driver(&ivshmem_driver);
}
