// SPDX-License-Identifier: LGPL-2.1-or-later
// From Rust, by its foreign function interface, without a crate:
//   rustc -O isolated.rs -l isolator
// isolator_tick() and isolator_due() are inline functions of the C header; here they are
// written again, as one load of the page that the thread shares with the kernel.
use std::ffi::{c_char, c_int, c_uint, CStr};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

const MASK_ALL: c_uint = 7;
const TICK_ALL: c_uint = 7;
const STATE_ON: u32 = 1;

/// The beginning of struct isolator_page; it only ever grows at its end.
#[repr(C)]
struct Page {
    magic: u32,
    version: u32,
    due: u32,
    state: u32,
}

#[link(name = "isolator")]
extern "C" {
    fn isolator_start(mask: c_uint) -> c_int;
    fn isolator_stop() -> c_int;
    fn isolator_tick_now(flags: c_uint) -> c_int;
    fn isolator_page() -> *const Page;
    fn isolator_strerror(error: c_int) -> *const c_char;
    fn sched_setaffinity(pid: c_int, bytes: usize, mask: *const u64) -> c_int;
    fn sched_getaffinity(pid: c_int, bytes: usize, mask: *mut u64) -> c_int;
}

/// Isolation of the thread that made it, ended when it goes; not to be sent to another.
struct Isolation {
    page: *const Page,
}

impl Isolation {
    fn start() -> Result<Self, String> {
        // SAFETY: these calls take numbers and give a pointer that is never null.
        unsafe {
            let achieved = isolator_start(MASK_ALL);
            if achieved < 0 {
                let text = CStr::from_ptr(isolator_strerror(achieved));
                return Err(text.to_string_lossy().into_owned());
            }
            Ok(Self { page: isolator_page() })
        }
    }

    /// One load where nothing is due.
    fn tick(&self) {
        // SAFETY: the page is mapped as long as the thread lives; the kernel writes to it.
        unsafe {
            let due = std::ptr::addr_of!((*self.page).due).read_volatile();
            let state = std::ptr::addr_of!((*self.page).state).read_volatile();
            if due != 0 || state != STATE_ON {
                isolator_tick_now(TICK_ALL);
            }
        }
    }
}

impl Drop for Isolation {
    fn drop(&mut self) {
        // SAFETY: Isolation holds a raw pointer, so it stays in the thread that started.
        unsafe { isolator_stop() };
    }
}

/// Pin this thread to the last CPU that it may run on.
fn pin() {
    let mut mask = [0u64; 16];
    // SAFETY: the size is that of the array, which is good for 1024 CPUs.
    unsafe {
        sched_getaffinity(0, std::mem::size_of_val(&mask), mask.as_mut_ptr());
        if let Some(word) = mask.iter().rposition(|bits| *bits != 0) {
            let bit = 63 - mask[word].leading_zeros();
            mask = [0; 16];
            mask[word] = 1 << bit;
            sched_setaffinity(0, std::mem::size_of_val(&mask), mask.as_ptr());
        }
    }
}

fn main() {
    let seen = Arc::new(AtomicU64::new(0));
    let over = Arc::new(AtomicBool::new(false));
    // Printing allocates and writes: another thread does it, and began before the pinning.
    let reporter = {
        let (seen, over) = (seen.clone(), over.clone());
        std::thread::spawn(move || {
            while !over.load(Ordering::Acquire) {
                std::thread::sleep(Duration::from_millis(10));
            }
            println!("{} rounds", seen.load(Ordering::Relaxed));
        })
    };

    pin();
    let isolation = Isolation::start();
    match &isolation {
        Ok(_) => println!("isolated"),
        Err(text) => println!("not isolated: {text}"),
    }
    let begin = Instant::now();
    let mut samples = Vec::with_capacity(1024);
    let room = samples.capacity();
    let mut rounds = 0u64;
    while begin.elapsed() < Duration::from_millis(300) {
        // Within its capacity a Vec does not allocate.
        if samples.len() == room {
            samples.clear();
        }
        samples.push(rounds);
        rounds += 1;
        seen.store(rounds, Ordering::Relaxed);
        if let Ok(isolation) = &isolation {
            isolation.tick();
        }
    }
    drop(isolation);
    over.store(true, Ordering::Release);
    let reported = reporter.join().is_ok();
    std::process::exit(i32::from(!reported || samples.capacity() != room || rounds == 0));
}
