// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: pcrypt
 * row: 99, 57
 * class: yield
 * kind: program
 * notick: no
 * timeout: 40
 * about: encryption that is spread over the CPUs: each CPU's worker hands results back
 */
#include <linux/if_alg.h>
#include <sys/socket.h>
#include "modules.h"
#include "trigger.h"

enum { KEY = 16, IV = 12, AAD = 16, TEXT = 64, TAG = 16 };

/* In this order; the first brings self-tests that would take minutes of this. */
static const char *const modules[] = {
	"cryptomgr", "aes_generic", "ctr", "ghash_generic", "gcm", "pcrypt", "algif_aead",
};
enum { MODULES = sizeof(modules) / sizeof(*modules) };

static void load(void)
{
	for (int i = 0; i < MODULES; i++) {
		if (!module_load(modules[i]))
			answer(false, "done", "missing: %s.ko", modules[i]);
		if (!i) {
			int fd = open("/sys/module/cryptomgr/parameters/notests", O_WRONLY);

			need(fd >= 0 && write(fd, "1", 1) == 1);
			close(fd);
		}
	}
}

static int unload(void)
{
	int gone = 0;

	for (int i = MODULES - 1; i >= 0; i--)
		gone += module_unload(modules[i]);
	return gone;
}

/* A cipher of its own: the kernel gives each the next CPU in turn. */
static int cipher(void)
{
	struct sockaddr_alg addr = {
		.salg_family = AF_ALG, .salg_type = "aead",
		/* Driver names: by algorithm it would find itself inside, and so on. */
		.salg_name = "pcrypt(gcm_base(ctr(aes-generic),ghash-generic))",
	};
	const unsigned char key[KEY] = "sixteen bytes...";
	int fd = socket(AF_ALG, SOCK_SEQPACKET, 0), use;

	need(fd >= 0 && !bind(fd, (struct sockaddr *)&addr, sizeof(addr)));
	need(!setsockopt(fd, SOL_ALG, ALG_SET_KEY, key, sizeof(key)));
	need(!setsockopt(fd, SOL_ALG, ALG_SET_AEAD_AUTHSIZE, NULL, TAG));
	use = accept(fd, NULL, NULL);
	need(use >= 0);
	close(fd);
	return use;
}

static void *option(struct msghdr *msg, struct cmsghdr **last, int type, size_t size)
{
	*last = *last ? CMSG_NXTHDR(msg, *last) : CMSG_FIRSTHDR(msg);
	(*last)->cmsg_level = SOL_ALG;
	(*last)->cmsg_type = type;
	(*last)->cmsg_len = CMSG_LEN(size);
	return CMSG_DATA(*last);
}

static void crypt_one(int fd, unsigned int op, void *in, size_t in_size, void *out,
		      size_t out_size)
{
	_Alignas(struct cmsghdr) char control[128] = { 0 };
	struct iovec iov = { in, in_size };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
		.msg_controllen = 2 * CMSG_SPACE(4) + CMSG_SPACE(sizeof(struct af_alg_iv) + IV),
	};
	const unsigned int aad = AAD;
	struct cmsghdr *last = NULL;
	struct af_alg_iv *iv;

	memcpy(option(&msg, &last, ALG_SET_OP, 4), &op, 4);
	memcpy(option(&msg, &last, ALG_SET_AEAD_ASSOCLEN, 4), &aad, 4);
	iv = option(&msg, &last, ALG_SET_IV, sizeof(*iv) + IV);
	iv->ivlen = IV;
	memset(iv->iv, 0x17, IV);
	need(sendmsg(fd, &msg, 0) == (ssize_t)in_size);
	need(read(fd, out, out_size) == (ssize_t)out_size);
}

int main(void)
{
	int cpus = (int)sysconf(_SC_NPROCESSORS_ONLN), right = 0, gone;
	unsigned char plain[AAD + TEXT], secret[AAD + TEXT + TAG], back[AAD + TEXT];

	load();
	for (int i = 0; i < cpus; i++) {
		int fd = cipher();

		memset(plain, 'a' + i, sizeof(plain));
		crypt_one(fd, ALG_OP_ENCRYPT, plain, sizeof(plain), secret, sizeof(secret));
		crypt_one(fd, ALG_OP_DECRYPT, secret, sizeof(secret), back, sizeof(back));
		right += memcmp(plain + AAD, secret + AAD, TEXT) &&
			!memcmp(plain + AAD, back + AAD, TEXT);
		close(fd);
	}
	gone = unload();
	answer(right == cpus && gone == MODULES, "done",
	       "%d of %d texts came back through the cipher, %d of %d modules went", right,
	       cpus, gone, MODULES);
}
