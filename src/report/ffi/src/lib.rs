//! A C ABI of three functions over the QuickJS engine.
//!
//! Rules of the boundary: a panic never crosses it (it becomes an error); nothing is printed; the
//! bytes handed out are given back through `hg_figures_free`. The script sees no file, no network
//! and no clock but the engine's own. The C++ side declares the same functions in
//! `report/engine.cpp`.

use std::alloc::{GlobalAlloc, Layout, System};
use std::any::Any;
use std::ffi::c_void;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::Once;

use rquickjs::{CatchResultExt, Context, Ctx, Function, Object, Runtime};

/// Bytes that a script may hold, many times what the largest results need: one that goes astray
/// becomes an error, and not the end of everything else on the machine.
const MOST_MEMORY: usize = 4 << 30;

/// The system's allocator, which says when it has no more: Rust can neither unwind from that nor be
/// told what to do about it but here. (The engine's own memory is not Rust's: its script is told.)
struct Told;

/// An `OutOfMemory`, or 0.
static HANDLER: AtomicUsize = AtomicUsize::new(0);

type OutOfMemory = extern "C" fn(usize);

fn told(taken: *mut u8, size: usize) -> *mut u8 {
    let handler = HANDLER.load(Relaxed);
    if taken.is_null() && handler != 0 {
        // SAFETY: hg_figures_out_of_memory_handler() stored a function of this type.
        let handler: OutOfMemory = unsafe { std::mem::transmute(handler) };
        handler(size);
    }
    taken
}

// SAFETY: all memory is the system allocator's.
unsafe impl GlobalAlloc for Told {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        told(System.alloc(layout), layout.size())
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        told(System.alloc_zeroed(layout), layout.size())
    }
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        System.dealloc(memory, layout);
    }
    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        told(System.realloc(memory, layout, size), size)
    }
}

#[global_allocator]
static ALLOCATOR: Told = Told;

/// What is called with the bytes that were asked for where there are no more; it must not return.
/// Without one the process is aborted.
#[no_mangle]
pub extern "C" fn hg_figures_out_of_memory_handler(handler: Option<OutOfMemory>) {
    HANDLER.store(handler.map_or(0, |function| function as usize), Relaxed);
}

/// Gives the text behind a name, as bytes that stay until the next call; false if there is none.
type Load = unsafe extern "C" fn(
    context: *mut c_void,
    name: *const u8,
    name_size: usize,
    text: *mut *const u8,
    text_size: *mut usize,
) -> bool;

/// Runs a script that defines `headgauge_figures`, and calls its `draw(data, load)`, where
/// `load(name)` asks back for a text. `*result` is what `draw` returned (true), or the error
/// (false); both are UTF-8 and the caller's to free.
///
/// # Safety
/// `script` and `data` point to that many bytes; `load` is callable with `context`; `result` and
/// `result_size` are writable.
#[no_mangle]
pub unsafe extern "C" fn hg_figures_draw(
    script: *const u8,
    script_size: usize,
    data: *const u8,
    data_size: usize,
    load: Load,
    context: *mut c_void,
    result: *mut *mut u8,
    result_size: *mut usize,
) -> bool {
    // The default hook prints a panic to stderr; ours are reported to the caller instead.
    static QUIET: Once = Once::new();
    QUIET.call_once(|| std::panic::set_hook(Box::new(|_| {})));
    let script = std::slice::from_raw_parts(script, script_size);
    let data = std::slice::from_raw_parts(data, data_size);
    let drawn = catch_unwind(AssertUnwindSafe(|| draw(script, data, load, context)))
        .unwrap_or_else(|panic| Err(format!("the engine failed: {}", panic_text(&*panic))));
    let (good, text) = match drawn {
        Ok(text) => (true, text),
        Err(message) => (false, message),
    };
    let bytes = text.into_bytes().into_boxed_slice();
    *result_size = bytes.len();
    *result = Box::into_raw(bytes) as *mut u8;
    good
}

/// # Safety
/// `text` and `size` came from `hg_figures_draw` and are not used again.
#[no_mangle]
pub unsafe extern "C" fn hg_figures_free(text: *mut u8, size: usize) {
    drop(Box::from_raw(std::ptr::slice_from_raw_parts_mut(text, size)));
}

fn draw(script: &[u8], data: &[u8], load: Load, context: *mut c_void) -> Result<String, String> {
    let data = std::str::from_utf8(data).map_err(|error| error.to_string())?;
    let runtime = Runtime::new().map_err(|error| error.to_string())?;
    runtime.set_memory_limit(MOST_MEMORY);
    let engine = Context::full(&runtime).map_err(|error| error.to_string())?;
    engine.with(|ctx| {
        run(&ctx, script, data, load, context).catch(&ctx).map_err(|error| error.to_string())
    })
}

fn run<'js>(
    ctx: &Ctx<'js>,
    script: &[u8],
    data: &str,
    load: Load,
    context: *mut c_void,
) -> rquickjs::Result<String> {
    ctx.eval::<(), _>(script)?;
    let figures: Object = ctx.globals().get("headgauge_figures")?;
    let draw: Function = figures.get("draw")?;
    let asked = Function::new(ctx.clone(), move |name: String| -> Option<String> {
        let mut text: *const u8 = std::ptr::null();
        let mut size = 0usize;
        // The caller of hg_figures_draw vouches for `load` and `context` until it returns, and the
        // engine, with this function in it, is gone by then.
        unsafe {
            if !load(context, name.as_ptr(), name.len(), &mut text, &mut size) {
                return None;
            }
            let bytes = std::slice::from_raw_parts(text, size);
            Some(String::from_utf8_lossy(bytes).into_owned())
        }
    })?;
    draw.call((data, asked))
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    if let Some(text) = panic.downcast_ref::<&str>() {
        text
    } else if let Some(text) = panic.downcast_ref::<String>() {
        text
    } else {
        "unknown panic"
    }
}
