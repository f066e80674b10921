// SPDX-License-Identifier: GPL-2.0-or-later

// poll CPU: a goroutine on a thread of its own, pinned to CPU, that computes, reads the clock
// and makes garbage; another one takes its results.  SIGTERM ends it, SIGUSR1 is a wish for a
// report.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

type sample struct {
	at    time.Time
	level float64
	data  []byte
}

var (
	lock    sync.Mutex
	samples []*sample
	rounds  uint64
	over    int32
)

func fail(what ...interface{}) {
	fmt.Fprintln(os.Stderr, what...)
	os.Exit(1)
}

func pin(cpu int) {
	var set [16]uint64
	set[cpu/64] = 1 << (cpu % 64)
	_, _, errno := syscall.RawSyscall(syscall.SYS_SCHED_SETAFFINITY, 0,
		unsafe.Sizeof(set), uintptr(unsafe.Pointer(&set)))
	if errno != 0 {
		fail("sched_setaffinity:", errno)
	}
}

func control(cpu int, done chan<- bool) {
	runtime.LockOSThread()
	pin(cpu)
	chance, level := uint32(1), 0.0
	last := time.Now()
	for atomic.LoadInt32(&over) == 0 {
		now := time.Now()
		if now.Sub(last) < 0 {
			fail("time went back")
		}
		last = now
		for i := 0; i < 500; i++ {
			chance = chance*1664525 + 1013904223
			level += 0.01 * (float64(chance>>16%1000)/1000 - level)
		}
		one := &sample{now, level, make([]byte, 64+chance>>24)}
		if lock.TryLock() {
			if len(samples) < 1024 {
				samples = append(samples, one)
			}
			lock.Unlock()
		}
		atomic.AddUint64(&rounds, 1)
	}
	done <- true
}

func main() {
	if len(os.Args) != 2 {
		fail("usage: poll CPU")
	}
	cpu, err := strconv.Atoi(os.Args[1])
	if err != nil || cpu < 0 || cpu >= 1024 {
		fail("usage: poll CPU")
	}
	// It starts on the other CPUs, which are all that the runtime counts.
	runtime.GOMAXPROCS(2)
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGUSR1)
	done := make(chan bool)
	go control(cpu, done)
	taken, reports := 0, 0
	fmt.Println("ready")
	clock := time.NewTicker(20 * time.Millisecond)
	for running := true; running; {
		select {
		case <-clock.C:
			lock.Lock()
			taken += len(samples)
			samples = samples[:0]
			lock.Unlock()
		case one := <-signals:
			if one == syscall.SIGTERM {
				running = false
			} else {
				reports++
			}
		}
	}
	atomic.StoreInt32(&over, 1)
	<-done
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	fmt.Printf("{\"rounds\": %d, \"reports\": %d, \"taken\": %d, \"collections\": %d}\n",
		atomic.LoadUint64(&rounds), reports, taken, memory.NumGC)
	if taken == 0 || memory.NumGC == 0 {
		os.Exit(1)
	}
}
