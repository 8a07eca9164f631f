//! The simulator as a WebAssembly module, which the page calls in a browser.
//!
//! The module only converts: the page writes JSON and bytes to the module's memory, and reads
//! tables from it. A call returns the address of an [`Answer`], whose data are valid until the
//! next call. The module imports nothing. A panic stores its message (see [`panic_message`]) and
//! ends the instance, which the page then replaces.

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

/// Location of the result of a call, as three words in the module's memory.
#[repr(C)]
#[derive(Debug, Default)]
pub struct Answer {
    /// 1 if `bytes` is the result, 0 if it is an error message.
    is_ok: u32,
    bytes: usize,
    length: usize,
}

#[derive(Default)]
struct Module {
    session: Session,
    /// The bytes to which `answer` points.
    bytes: Vec<u8>,
    answer: Answer,
}

thread_local! {
    static MODULE: RefCell<Module> = RefCell::default();
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Prepares the module; must be called before any other function.
#[unsafe(no_mangle)]
pub extern "C" fn initialize() {
    std::panic::set_hook(Box::new(|panic| {
        PANIC.with(|message| *message.borrow_mut() = panic.to_string());
    }));
}

/// Allocates `length` bytes for data of the caller; returns 0 if memory is exhausted.
#[unsafe(no_mangle)]
pub extern "C" fn allocate(length: usize) -> *mut u8 {
    match Layout::array::<u8>(length.max(1)) {
        // SAFETY: the layout has at least one byte.
        Ok(layout) => unsafe { alloc(layout) },
        Err(_) => std::ptr::null_mut(),
    }
}

/// Frees memory that [`allocate`] returned.
///
/// # Safety
/// `memory` must be a result of `allocate(length)` and must not be used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn release(memory: *mut u8, length: usize) {
    if let Ok(layout) = Layout::array::<u8>(length.max(1)) {
        // SAFETY: see above.
        unsafe { dealloc(memory, layout) }
    }
}

/// Stores the file of a trace under its name in scenarios; the answer is empty.
///
/// # Safety
/// Both pairs must be memory from [`allocate`] that has been written.
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

/// Stores the file of a preset, or of a recorded link if `is_recording` is not 0, under its name in
/// links.
///
/// The answer is empty for a preset, and a JSON description of its content for a recording.
///
/// # Safety
/// Both pairs must be memory from [`allocate`] that has been written.
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

/// Returns the canonical JSON of the scenario that the command line makes from the same input; the
/// request is JSON (described in `crates/page/src/scenarios.rs`).
///
/// The recordings of the scenario's link are added as traces.
///
/// # Safety
/// The pair must be memory from [`allocate`] that has been written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scenario(request: *const u8, length: usize) -> *const Answer {
    // SAFETY: see above.
    let request = unsafe { bytes(request, length) };
    answer(|session| Ok(session.scenario(text(request)?)?.into_bytes()))
}

/// Runs a scenario in canonical JSON; returns its tables (`crates/page/src/tables.rs` describes the
/// format).
///
/// # Safety
/// The pair must be memory from [`allocate`] that has been written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn run(scenario: *const u8, length: usize) -> *const Answer {
    // SAFETY: see above.
    let scenario = unsafe { bytes(scenario, length) };
    answer(|session| session.run(text(scenario)?))
}

/// Returns the decision about runs as JSON. The question is JSON, and the values are those in the
/// answers of [`run`] (`crates/page/src/decision.rs` describes both).
///
/// # Safety
/// Both pairs must be memory from [`allocate`] that has been written.
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

/// Returns the queue of a one-line link as JSON (described in `crates/page/src/queues.rs`).
///
/// # Safety
/// The pair must be memory from [`allocate`] that has been written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn queue(link: *const u8, length: usize) -> *const Answer {
    // SAFETY: see above.
    let link = unsafe { bytes(link, length) };
    answer(|session| Ok(session.queue(text(link)?)?.into_bytes()))
}

/// Returns the version and the behaviour epoch as JSON.
#[unsafe(no_mangle)]
pub extern "C" fn version() -> *const Answer {
    answer(|_| Ok(session::version().into_bytes()))
}

/// Returns the message of the panic that ended this instance; empty if there was none.
#[unsafe(no_mangle)]
pub extern "C" fn panic_message() -> *const Answer {
    let message = PANIC.with(|message| message.borrow().clone());
    // A panic inside a call leaves the module borrowed, so the answer is leaked instead.
    let bytes = message.into_bytes().leak();
    Box::leak(Box::new(Answer { is_ok: 1, bytes: bytes.as_ptr().addr(), length: bytes.len() }))
}

/// # Safety
/// The pair must be memory that has been written and that exists until the end of the call.
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
