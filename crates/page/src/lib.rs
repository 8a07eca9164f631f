//! The simulator as a WebAssembly module: what a page in a browser calls.
//!
//! Nothing is decided here. JSON and bytes come in by way of the module's memory, tables go out.
//! A call answers the address of an [`Answer`]; what it points to is valid until the next call.
//! The module imports nothing. A panic stores its message, see [`panic_message`], and ends the
//! instance, which its owner then replaces.

mod decision;
mod files;
mod queues;
mod scenarios;
mod session;
mod tables;

use std::alloc::{Layout, alloc, dealloc};
use std::cell::RefCell;
use std::slice;

use session::Session;

/// Where a call left its result, as three words of the module's memory.
#[repr(C)]
#[derive(Debug, Default)]
pub struct Answer {
    /// 1 if `bytes` is what was asked for, 0 if it is the message of an error.
    is_ok: u32,
    bytes: usize,
    length: usize,
}

#[derive(Default)]
struct Module {
    session: Session,
    /// What `answer` points to.
    bytes: Vec<u8>,
    answer: Answer,
}

thread_local! {
    static MODULE: RefCell<Module> = RefCell::default();
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Prepares the module; has to be the first call.
#[unsafe(no_mangle)]
pub extern "C" fn initialize() {
    std::panic::set_hook(Box::new(|panic| {
        PANIC.with(|message| *message.borrow_mut() = panic.to_string());
    }));
}

/// Memory for `length` bytes that a caller wants to hand over; 0 if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn allocate(length: usize) -> *mut u8 {
    match Layout::array::<u8>(length.max(1)) {
        // SAFETY: the layout has at least one byte.
        Ok(layout) => unsafe { alloc(layout) },
        Err(_) => std::ptr::null_mut(),
    }
}

/// Gives back what [`allocate`] gave.
///
/// # Safety
/// `memory` came from `allocate(length)` and is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn release(memory: *mut u8, length: usize) {
    if let Ok(layout) = Layout::array::<u8>(length.max(1)) {
        // SAFETY: see above.
        unsafe { dealloc(memory, layout) }
    }
}

/// Keeps a trace's file under the name that scenarios use; the answer is empty.
///
/// # Safety
/// Both pairs are memory of [`allocate`] that has been written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn add_trace(
    name: *const u8,
    name_length: usize,
    content: *const u8,
    content_length: usize,
) -> *const Answer {
    // SAFETY: see above.
    let (name, content) = unsafe { (bytes(name, name_length), bytes(content, content_length)) };
    answer(|session| {
        session.add_trace(text(name)?, content);
        Ok(Vec::new())
    })
}

/// Keeps the file of a preset, or where `is_recording` is not 0 of a recorded link, under the name
/// that links have for it. The answer is empty for a preset, and JSON for a recording: what was
/// understood of it.
///
/// # Safety
/// Both pairs are memory of [`allocate`] that has been written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn add_file(
    name: *const u8,
    name_length: usize,
    content: *const u8,
    content_length: usize,
    is_recording: u32,
) -> *const Answer {
    // SAFETY: see above.
    let (name, content) = unsafe { (bytes(name, name_length), bytes(content, content_length)) };
    answer(|session| {
        let name = text(name)?;
        if is_recording != 0 {
            return Ok(session.add_recording(name, content)?.into_bytes());
        }
        session.add_preset(name, text(content)?);
        Ok(Vec::new())
    })
}

/// The canonical JSON of the scenario that the command line makes of the same; the request is JSON
/// (`crates/page/src/scenarios.rs` describes it). The recordings of its link are added as traces.
///
/// # Safety
/// The pair is memory of [`allocate`] that has been written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scenario(request: *const u8, length: usize) -> *const Answer {
    // SAFETY: see above.
    let request = unsafe { bytes(request, length) };
    answer(|session| Ok(session.scenario(text(request)?)?.into_bytes()))
}

/// Runs a scenario, which is JSON in its canonical form; the answer has its tables
/// (`crates/page/src/tables.rs` describes their bytes).
///
/// # Safety
/// The pair is memory of [`allocate`] that has been written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn run(scenario: *const u8, length: usize) -> *const Answer {
    // SAFETY: see above.
    let scenario = unsafe { bytes(scenario, length) };
    answer(|session| session.run(text(scenario)?))
}

/// The decision over runs, as JSON; the question is JSON, the figures are those that each answer of
/// [`run`] has (`crates/page/src/decision.rs` describes both).
///
/// # Safety
/// Both pairs are memory of [`allocate`] that has been written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decide(
    question: *const u8,
    question_length: usize,
    figures: *const u8,
    figures_length: usize,
) -> *const Answer {
    // SAFETY: see above.
    let (question, figures) =
        unsafe { (bytes(question, question_length), bytes(figures, figures_length)) };
    answer(|_| {
        let question = serde_json::from_str(text(question)?).map_err(|error| error.to_string())?;
        Ok(decision::decision(&question, figures)?.into_bytes())
    })
}

/// The queue of a link in one line, as JSON (`crates/page/src/queues.rs` describes it).
///
/// # Safety
/// The pair is memory of [`allocate`] that has been written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn queue(link: *const u8, length: usize) -> *const Answer {
    // SAFETY: see above.
    let link = unsafe { bytes(link, length) };
    answer(|session| Ok(session.queue(text(link)?)?.into_bytes()))
}

/// Version and behaviour epoch, as JSON.
#[unsafe(no_mangle)]
pub extern "C" fn version() -> *const Answer {
    answer(|_| Ok(session::version().into_bytes()))
}

/// What the panic said that ended this instance; empty if none did.
#[unsafe(no_mangle)]
pub extern "C" fn panic_message() -> *const Answer {
    let message = PANIC.with(|message| message.borrow().clone());
    // The panic may have been within a call, whose borrow lasts: the answer is never given back.
    let bytes = message.into_bytes().leak();
    Box::leak(Box::new(Answer { is_ok: 1, bytes: bytes.as_ptr().addr(), length: bytes.len() }))
}

/// # Safety
/// The pair is memory that has been written and outlives the call.
unsafe fn bytes<'a>(pointer: *const u8, length: usize) -> &'a [u8] {
    // SAFETY: see above.
    unsafe { slice::from_raw_parts(pointer, length) }
}

fn text(bytes: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(bytes).map_err(|error| format!("the text is not UTF-8: {error}"))
}

fn answer(work: impl FnOnce(&mut Session) -> Result<Vec<u8>, String>) -> *const Answer {
    MODULE.with_borrow_mut(|Module { session, bytes, answer }| {
        let result = work(session);
        let is_ok = result.is_ok().into();
        *bytes = result.unwrap_or_else(String::into_bytes);
        *answer = Answer { is_ok, bytes: bytes.as_ptr().addr(), length: bytes.len() };
        &raw const *answer
    })
}
