// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: wheel-pinned
 * cpus: 2
 * kernel: isolator
 * timeout: 60
 * about: a timer of the wheel that has to stay on an isolated CPU runs at its deadline, without a tick
 */
#include <arpa/inet.h>
#include <linux/filter.h>
#include <sys/socket.h>
#include "../loopback.h"
#include "../test.h"

/* What a timer of the listener, pinned where the request came in, does after a second. */
#define SNMP	"/proc/net/snmp"

struct request {
	struct sockaddr_in to;
	_Atomic uint64_t wanted, made;
	int error;
};

/* Asks for a connection, hears no answer, and is gone: it stays half open. */
static int ask(const struct sockaddr_in *to)
{
	struct sock_filter none = BPF_STMT(BPF_RET | BPF_K, 0);
	struct sock_fprog filter = { 1, &none };
	int s = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int error = 0;

	if (s < 0 || setsockopt(s, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter)) ||
	    !connect(s, (const struct sockaddr *)to, sizeof(*to)) || errno != EINPROGRESS)
		error = errno ? errno : EISCONN;
	close(s);
	return error;
}

static void ask_once(struct worker *w)
{
	struct request *r = w->data;

	if (r->made == r->wanted)
		return;
	r->error = ask(&r->to);
	r->made++;
}

static unsigned long long retransmitted(void)
{
	char text[4096], *at = text, *line;
	unsigned long long n = 0;

	if (get_file(SNMP, text, sizeof(text)))
		bail_out(SNMP);
	while ((line = strsep(&at, "\n"))) {
		if (sscanf(line, "Tcp: %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %llu", &n) == 1)
			return n;
	}
	bail_out("no RetransSegs in " SNMP);
}

static int listener(struct sockaddr_in *at)
{
	int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t size = sizeof(*at);

	*at = (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	if (s < 0 || bind(s, (struct sockaddr *)at, size) || listen(s, 8) ||
	    getsockname(s, (struct sockaddr *)at, &size))
		bail_out("listener");
	return s;
}

int main(void)
{
	struct worker *w = worker_new(1);
	struct request r = { 0 };
	struct loopback lo;
	unsigned long long before;
	uint64_t missed;
	int s;

	iso_require(2);
	if (loopback_open(&lo))
		bail_out("loopback");
	s = listener(&r.to);
	w->deadline_ns = 100 * MS;
	w->data = &r;
	w->each = ask_once;
	need_worker(worker_thread(w));
	before = retransmitted();
	r.wanted = 1;
	if (!wait_for(&r.made, 1, 5000) || r.error)
		bail_out(r.error ? strerror(r.error) : "the worker does not ask");
	/* Threads that this woke have had the CPU by then. */
	sleep_ms(500);	/* sleep: nobody tells when */
	missed = w->iso.page->missed;
	ok(comes(retransmitted() > before, 10000), "the timer ran without a tick");
	missed = w->iso.page->missed - missed;
	/*
	 * The timer's; on PREEMPT_RT threads run it, and may have to get the CPU for longer, as on
	 * a host that holds them.
	 */
	if (!ok(missed >= 1 && missed <= 8, "delivered by %lu deadline misses", missed))
		show_deliveries();
	ok(file_has("/proc/isolator/deliveries", "cpu 1 deadline_miss", "kind timer", NULL),
	   "named as a timer");
	worker_end(w);
	close(s);
	loopback_close(&lo);
	return done_testing();
}
