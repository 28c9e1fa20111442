//! A C ABI of a few functions over the Hugging Face tokenizers library.
//!
//! Rules of the boundary: a panic never crosses it (it becomes an error string); nothing is
//! printed; the caller returns every pointer through the `_free` function named after it.
//! The C++ side declares the same functions in `tokenize/tokenizer.cpp`.

use std::alloc::{GlobalAlloc, Layout, System};
use std::any::Any;
use std::ffi::{c_char, CString};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::Once;

use serde_json::Value;
use tokenizers::models::{bpe::BPE, ModelWrapper};
use tokenizers::{tokenizer as parts, AddedToken, Tokenizer};

type Bpe = parts::TokenizerImpl<
    BPE, parts::NormalizerWrapper, parts::PreTokenizerWrapper, parts::PostProcessorWrapper, parts::DecoderWrapper>;

/// The system's allocator with a count of the bytes in use and the limit `LIMIT`. Rust cannot
/// unwind from a failed allocation; only the allocator can react to it.
struct Counted;

static HELD: AtomicUsize = AtomicUsize::new(0);
static LIMIT: AtomicUsize = AtomicUsize::new(usize::MAX);
/// An `OutOfMemory`, or 0.
static HANDLER: AtomicUsize = AtomicUsize::new(0);

type OutOfMemory = extern "C" fn(usize);

impl Counted {
    /// Counts `size` more bytes and allocates them with `take`, or calls the handler.
    fn take(size: usize, take: impl FnOnce() -> *mut u8) -> *mut u8 {
        let held = HELD.fetch_add(size, Relaxed);
        if held.saturating_add(size) <= LIMIT.load(Relaxed) {
            let taken = take();
            if !taken.is_null() {
                return taken;
            }
        }
        HELD.fetch_sub(size, Relaxed);
        let handler = HANDLER.load(Relaxed);
        if handler != 0 {
            // SAFETY: hg_out_of_memory_handler() stored a function of this type.
            let handler: OutOfMemory = unsafe { std::mem::transmute(handler) };
            handler(size);
        }
        std::ptr::null_mut()
    }
}

// SAFETY: all memory is the system allocator's; the counts do not affect it.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        Counted::take(layout.size(), || System.alloc(layout))
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        Counted::take(layout.size(), || System.alloc_zeroed(layout))
    }
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        System.dealloc(memory, layout);
        HELD.fetch_sub(layout.size(), Relaxed);
    }
    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let more = size.saturating_sub(layout.size());
        let taken = Counted::take(more, || System.realloc(memory, layout, size));
        if !taken.is_null() {
            HELD.fetch_sub(layout.size().saturating_sub(size), Relaxed);
        }
        taken
    }
}

#[global_allocator]
static ALLOCATOR: Counted = Counted;

/// Allows at most `bytes` more than are in use now.
#[no_mangle]
pub extern "C" fn hg_memory_limit(bytes: usize) {
    LIMIT.store(HELD.load(Relaxed).saturating_add(bytes), Relaxed);
}

/// Sets the handler that gets the number of bytes asked for when the limit is reached; it must not
/// return. Without a handler the process is aborted.
#[no_mangle]
pub extern "C" fn hg_out_of_memory_handler(handler: Option<OutOfMemory>) {
    HANDLER.store(handler.map_or(0, |function| function as usize), Relaxed);
}

pub struct HgTokenizer(Tokenizer);

/// Loads the bytes of a tokenizer.json. `added` is empty or a list of tokens to add, as JSON.
/// Returns null on failure and sets `*error`.
///
/// # Safety
/// `json` points to `size` bytes, `added` to `added_size`; `error` is writable.
#[no_mangle]
pub unsafe extern "C" fn hg_tokenizer_from_json(
    json: *const u8,
    size: usize,
    added: *const u8,
    added_size: usize,
    error: *mut *mut c_char,
) -> *mut HgTokenizer {
    guard(error, || load_json(bytes(json, size), bytes(added, added_size))).map_or(std::ptr::null_mut(), boxed)
}

/// # Safety
/// `tokenizer` came from a load function and is not used again.
#[no_mangle]
pub unsafe extern "C" fn hg_tokenizer_free(tokenizer: *mut HgTokenizer) {
    if !tokenizer.is_null() {
        let _ = catch_unwind(AssertUnwindSafe(|| drop(Box::from_raw(tokenizer))));
    }
}

/// Computes the ids of a UTF-8 text; returns true on success. The caller returns `*ids` to
/// `hg_ids_free` with `*count`. The post-processor added the first `*before` and the last `*after`
/// ids. If `ends` is not null, `*ends` gives for each id the byte of the text where its text ends;
/// the caller returns it to `hg_ends_free` with `*count`.
///
/// # Safety
/// `text` points to `size` bytes; all out pointers except `ends` are writable.
#[no_mangle]
pub unsafe extern "C" fn hg_tokenizer_encode(
    tokenizer: *const HgTokenizer,
    text: *const u8,
    size: usize,
    add_special: bool,
    ids: *mut *mut u32,
    count: *mut usize,
    before: *mut usize,
    after: *mut usize,
    ends: *mut *mut usize,
    error: *mut *mut c_char,
) -> bool {
    let encoded = guard(error, || {
        let text = std::str::from_utf8(bytes(text, size)).map_err(|e| e.to_string())?;
        let tokenizer = &(*tokenizer).0;
        // encode_fast gives the same ids without offsets.
        let encoding = if ends.is_null() {
            tokenizer.encode_fast(text, add_special)
        } else {
            tokenizer.encode(text, add_special)
        }
        .map_err(|e| e.to_string())?;
        let added = encoding.get_special_tokens_mask();
        let leading = added.iter().take_while(|&&special| special == 1).count();
        let trailing = added[leading..].iter().rev();
        let trailing = trailing.take_while(|&&special| special == 1).count();
        let offsets: Vec<usize> = encoding.get_offsets().iter().map(|&(_, end)| end).collect();
        let list = encoding.get_ids().to_vec().into_boxed_slice();
        Ok((list, leading, trailing, offsets.into_boxed_slice()))
    });
    match encoded {
        Some((list, leading, trailing, offsets)) => {
            if !ends.is_null() {
                *ends = Box::into_raw(offsets) as *mut usize;
            }
            *count = list.len();
            *before = leading;
            *after = trailing;
            *ids = Box::into_raw(list) as *mut u32;
            true
        }
        None => false,
    }
}

/// # Safety
/// `ids` and `count` came from `hg_tokenizer_encode`.
#[no_mangle]
pub unsafe extern "C" fn hg_ids_free(ids: *mut u32, count: usize) {
    if !ids.is_null() {
        drop(Box::from_raw(std::ptr::slice_from_raw_parts_mut(ids, count)));
    }
}

/// # Safety
/// `ends` and `count` came from `hg_tokenizer_encode`.
#[no_mangle]
pub unsafe extern "C" fn hg_ends_free(ends: *mut usize, count: usize) {
    if !ends.is_null() {
        drop(Box::from_raw(std::ptr::slice_from_raw_parts_mut(ends, count)));
    }
}

/// Returns the text of one token: decoded if it covers whole characters, else its entry in the
/// vocabulary. Returns null and leaves `*error` unchanged if the tokenizer has no such id; returns
/// null and sets `*error` on failure. The caller returns the UTF-8 text to `hg_string_free`.
///
/// # Safety
/// `tokenizer` came from a load function; `error` is writable.
#[no_mangle]
pub unsafe extern "C" fn hg_tokenizer_piece(
    tokenizer: *const HgTokenizer,
    id: u32,
    error: *mut *mut c_char,
) -> *mut c_char {
    let piece = guard(error, || {
        let tokenizer = &(*tokenizer).0;
        let Some(entry) = tokenizer.id_to_token(id) else {
            return Ok(None);
        };
        let text = tokenizer.decode(&[id], false).map_err(|e| e.to_string())?;
        let whole = !text.is_empty() && !text.contains(char::REPLACEMENT_CHARACTER);
        Ok(Some(if whole { text } else { entry }))
    });
    match piece {
        Some(Some(text)) => c_string(&text),
        _ => std::ptr::null_mut(),
    }
}

/// Returns the text of several tokens. Bytes that are no whole character become U+FFFD. Returns null
/// and sets `*error` on failure. The caller returns the UTF-8 text to `hg_string_free`.
///
/// # Safety
/// `tokenizer` came from a load function; `ids` points to `count` ids; `error` is writable.
#[no_mangle]
pub unsafe extern "C" fn hg_tokenizer_decode(
    tokenizer: *const HgTokenizer,
    ids: *const u32,
    count: usize,
    error: *mut *mut c_char,
) -> *mut c_char {
    let text = guard(error, || {
        let ids = if count == 0 { &[][..] } else { std::slice::from_raw_parts(ids, count) };
        (*tokenizer).0.decode(ids, false).map_err(|e| e.to_string())
    });
    text.map_or(std::ptr::null_mut(), |text| c_string(&text))
}

/// Returns the number of tokens, including added ones; 0 on failure.
///
/// # Safety
/// `tokenizer` came from a load function.
#[no_mangle]
pub unsafe extern "C" fn hg_tokenizer_vocabulary(tokenizer: *const HgTokenizer) -> usize {
    catch_unwind(AssertUnwindSafe(|| (*tokenizer).0.get_vocab_size(true))).unwrap_or(0)
}

/// # Safety
/// `text` came from this library and is not used again.
#[no_mangle]
pub unsafe extern "C" fn hg_string_free(text: *mut c_char) {
    if !text.is_null() {
        drop(CString::from_raw(text));
    }
}

fn load_json(json: &[u8], added: &[u8]) -> Result<Tokenizer, String> {
    // A model of a type that is not known beforehand becomes a tree of JSON values first.
    let bpe = serde_json::from_slice::<Bpe>(json).map(Tokenizer::from);
    let mut tokenizer = bpe.or_else(|_| serde_json::from_slice(json)).map_err(|e| e.to_string())?;
    // A measurement needs the ids of the whole text, with nothing else and always the same:
    // truncation, padding and dropout are switched off, whatever the file says.
    tokenizer.with_truncation(None).map_err(|e| e.to_string())?;
    tokenizer.with_padding(None);
    if let ModelWrapper::BPE(bpe) = tokenizer.get_model() {
        if bpe.dropout.is_some() {
            let mut steady = bpe.clone();
            steady.dropout = None;
            tokenizer.with_model(steady);
        }
    }
    if !added.is_empty() {
        add_tokens(&mut tokenizer, added).map_err(|e| format!("tokens of tokenizer_config.json or added_tokens.json: {e}"))?;
    }
    Ok(tokenizer)
}

/// Adds tokens as transformers does: what the vocabulary has keeps its id, the others follow it. A
/// token with an `id` must get that one.
fn add_tokens(tokenizer: &mut Tokenizer, list: &[u8]) -> Result<(), String> {
    let tokens: Vec<AddedToken> = serde_json::from_slice(list).map_err(|e| e.to_string())?;
    let values: Vec<Value> = serde_json::from_slice(list).map_err(|e| e.to_string())?;
    tokenizer.add_tokens(&tokens);
    for (token, wanted) in tokens.iter().zip(values.iter().map(|value| &value["id"])) {
        let id = tokenizer.token_to_id(&token.content);
        if !wanted.is_null() && wanted.as_u64() != id.map(u64::from) {
            let found = id.map_or("none".to_string(), |id| id.to_string());
            return Err(format!("{} with the id {wanted}; it gets {found}", token.content));
        }
    }
    Ok(())
}

/// Runs `f`; an error or a panic is written to `*error` and becomes None.
unsafe fn guard<T>(error: *mut *mut c_char, f: impl FnOnce() -> Result<T, String>) -> Option<T> {
    // The default hook prints a panic to stderr; this library's panics are reported to the caller.
    static QUIET: Once = Once::new();
    QUIET.call_once(|| std::panic::set_hook(Box::new(|_| {})));
    let message = match catch_unwind(AssertUnwindSafe(f)) {
        Ok(Ok(value)) => return Some(value),
        Ok(Err(message)) => message,
        Err(panic) => format!("the tokenizers library failed: {}", panic_text(&*panic)),
    };
    *error = c_string(&message);
    None
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

unsafe fn bytes<'a>(data: *const u8, size: usize) -> &'a [u8] {
    if size == 0 {
        &[]
    } else {
        std::slice::from_raw_parts(data, size)
    }
}

fn boxed(tokenizer: Tokenizer) -> *mut HgTokenizer {
    Box::into_raw(Box::new(HgTokenizer(tokenizer)))
}

fn c_string(text: &str) -> *mut c_char {
    // A C string ends at the first NUL, so NUL is shown as its Unicode picture.
    CString::new(text.replace('\0', "\u{2400}"))
        .unwrap_or_default()
        .into_raw()
}
