// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "link.h"

struct link *link_open(int socket, uint64_t now)
{
	struct link *link = calloc(1, sizeof(*link));

	if (!link) {
		close(socket);
		return NULL;
	}
	link->socket = socket;
	link->since_ns = now;
	return link;
}

void link_close(struct link *link)
{
	close(link->socket);
	free(link);
}

bool link_read(struct link *link)
{
	ssize_t got;

	if (link->in_used == sizeof(link->in))
		return true;
	got = recv(link->socket, link->in + link->in_used, sizeof(link->in) - link->in_used,
		   MSG_DONTWAIT);
	if (got > 0)
		link->in_used += (size_t)got;
	return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

int link_frame(struct link *link, struct frame *frame, size_t *length)
{
	switch (frame_look(link->in, link->in_used, frame, length)) {
	case FRAME_MORE:
		return 0;
	case FRAME_GOOD:
		return frame->sequence == link->sequence_in ? 1 : -1;
	default:
		return -1;
	}
}

void link_done(struct link *link, size_t length)
{
	link->sequence_in++;
	link->in_used -= length;
	memmove(link->in, link->in + length, link->in_used);
}

size_t link_room(struct link *link)
{
	if (link->out_begin) {
		link->out_end -= link->out_begin;
		memmove(link->out, link->out + link->out_begin, link->out_end);
		link->out_begin = 0;
	}
	return sizeof(link->out) - link->out_end;
}

uint8_t *link_place(struct link *link)
{
	return link->out + link->out_end;
}

void link_added(struct link *link, size_t size)
{
	link->out_end += size;
	link->sequence_out++;
}

void link_send(struct link *link, const struct message *message)
{
	size_t room = link_room(link);
	size_t size = message_write(link_place(link), room, link->sequence_out, message);

	if (size)
		link_added(link, size);
}

bool link_flush(struct link *link)
{
	while (link->out_begin < link->out_end) {
		ssize_t sent = send(link->socket, link->out + link->out_begin,
				    link->out_end - link->out_begin, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (sent < 0)
			return errno == EAGAIN || errno == EINTR;
		link->out_begin += (size_t)sent;
	}
	link->out_begin = link->out_end = 0;
	return true;
}
