//! The helper process: reads requests and writes answers.

use std::fs;
use std::io::{self, BufRead, Write};
use std::process;
use std::sync::mpsc;
use std::thread;

use cwndlab_emu::{Obstacle, Right, StudyLock, what_is_missing};

use crate::protocol::{Answer, Ran, Request};
use crate::run::{Turn, run};
use crate::traces::read_traces;

/// Answers requests until standard input ends, which also ends a run in progress.
///
/// # Errors
/// Returns an error if standard output cannot be written.
pub fn serve() -> io::Result<()> {
    // If this fails, the first run reports what is missing.
    let _ = Right::acquire();
    let (sender, lines) = mpsc::channel();
    thread::spawn(move || {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
        // The client has ended. Namespaces, devices and sockets end with this process.
        process::exit(0);
    });
    let mut held = None;
    for line in lines {
        let answered = match serde_json::from_str(&line) {
            Ok(request) => answer(request, &mut held),
            Err(error) => Answer::Refused { message: format!("the request is invalid: {error}") },
        };
        tell(&answered)?;
    }
    Ok(())
}

/// Checks whether runs on this kernel are possible. Returns status 0, or status 1 after printing
/// the obstacle and a remedy on one line each.
///
/// # Errors
/// The call has no known errors.
pub fn main_of_check() -> Result<u8, String> {
    let _ = Right::acquire();
    let missing = what_is_missing();
    if let Some(Obstacle { what, remedy }) = &missing {
        println!("{what}\n{remedy}");
    }
    Ok(u8::from(missing.is_some()))
}

fn answer(request: Request, held: &mut Option<StudyLock>) -> Answer {
    let waiting = |owner: &str| drop(tell(&Answer::Waiting { owner: owner.to_owned() }));
    let (scenario, traces, kernel_names, capture, states, owner, is_held, is_awake) = match request
    {
        Request::Run {
            scenario,
            traces,
            kernel_names,
            capture,
            states,
            owner,
            is_held,
            is_awake,
        } => (scenario, traces, kernel_names, capture, states, owner, is_held, is_awake),
        Request::Hold { owner } => {
            return match StudyLock::acquire(&StudyLock::place(), &owner, waiting) {
                Ok(lock) => {
                    *held = Some(lock);
                    Answer::Done
                }
                Err(error) => Answer::Refused { message: error.to_string() },
            };
        }
        Request::Release {} => {
            *held = None;
            return Answer::Done;
        }
    };
    let done = read_traces(&scenario.path, &traces).and_then(|traces| {
        let turn = if is_held { Turn::Held } else { Turn::Wait(&owner, Box::new(waiting)) };
        let done = run(&scenario, &traces, &kernel_names, turn, is_awake)
            .map_err(|error| error.to_string())?;
        for (path, content) in [(&capture, &done.output.pcap), (&states, &done.states)] {
            if let (Some(path), Some(bytes)) = (path, content) {
                fs::write(path, bytes).map_err(|error| format!("{}: {error}", path.display()))?;
            }
        }
        Ok(done)
    });
    match done {
        Ok(done) => Answer::Ran(Box::new(Ran {
            flows: done.output.flows,
            links: done.output.links,
            samples: done.output.samples,
            events: done.output.events,
            report: done.report,
            kernel: done.kernel,
        })),
        Err(message) => Answer::Refused { message },
    }
}

fn tell(answer: &Answer) -> io::Result<()> {
    let mut line = serde_json::to_vec(answer)?;
    line.push(b'\n');
    let mut output = io::stdout().lock();
    output.write_all(&line)?;
    output.flush()
}
