//! Parser of scripts.

use cwndlab_units::{Duration, Time};

use super::fact::Claim;
use super::notation::{Template, number};
use super::quantity::{Value, quantities};
use super::{Action, Failure, Script, Setup, Step, When};

/// Parses a script. A failure names the line.
pub(crate) fn parse(file: &str, text: &str) -> Result<Script, Failure> {
    let mut script = Script {
        file: file.to_owned(),
        title: String::new(),
        sources: Vec::new(),
        setup: Setup::default(),
        steps: Vec::new(),
    };
    for (index, whole) in text.lines().enumerate() {
        let line = index + 1;
        let (code, comment) = whole.split_once('#').unwrap_or((whole, ""));
        let comment = comment.trim();
        if script.title.is_empty() {
            script.title = comment.to_owned();
        }
        if let Some(source) = comment.strip_prefix("Source:") {
            script.sources.push(source.trim().to_owned());
        }
        if !code.trim().is_empty() {
            parse_line(&mut script, line, code.trim())
                .map_err(|problem| Failure { line, problem })?;
        }
    }
    Ok(script)
}

fn parse_line(script: &mut Script, line: usize, code: &str) -> Result<(), String> {
    let (first, rest) = split_word(code);
    if is_setting(first) {
        if !script.steps.is_empty() {
            return Err(format!("`{first}` belongs before the first step"));
        }
        return parse_setting(&mut script.setup, first, rest);
    }
    let (when, text) = match parse_when(first)? {
        Some(when) => (when, rest),
        None => (When::After(Duration::ZERO, Duration::ZERO), code),
    };
    let action = parse_action(text)?;
    if !matches!(action, Action::Leave(_)) && !when.is_exact() {
        return Err("only a segment that is expected may have a range of times".to_owned());
    }
    script.steps.push(Step { line, text: text.to_owned(), when, action });
    Ok(())
}

fn split_word(text: &str) -> (&str, &str) {
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (word, rest.trim())
}

fn is_setting(word: &str) -> bool {
    ["stack", "algorithm", "set", "parameter", "sequence", "peer_sequence", "clock"].contains(&word)
}

fn parse_setting(setup: &mut Setup, word: &str, value: &str) -> Result<(), String> {
    let table = || value.parse::<toml::Table>().map_err(|error| error.message().to_owned());
    match word {
        "stack" => setup.stack = value.to_owned(),
        "algorithm" => setup.algorithm = value.to_owned(),
        "set" => setup.settings.extend(table()?),
        "parameter" => setup.parameters.extend(table()?),
        "sequence" => setup.sequence = number(value)?,
        "peer_sequence" => setup.peer_sequence = number(value)?,
        _ => setup.clock = number(value)?,
    }
    Ok(())
}

/// Parses `+40ms` or `@1.2s`, or a range of these.
fn parse_when(word: &str) -> Result<Option<When>, String> {
    let Some(kind) = word.chars().next().filter(|first| ['+', '@'].contains(first)) else {
        return Ok(None);
    };
    let (low, high) = match quantities(&word[1..])? {
        (Value::Nanos(low), Value::Nanos(high)) => (low, high),
        _ => return Err(format!("`{word}` is not a time: give its unit")),
    };
    Ok(Some(match kind {
        '+' => When::After(Duration::from_nanos(low), Duration::from_nanos(high)),
        _ => When::At(Time::from_nanos(low), Time::from_nanos(high)),
    }))
}

fn parse_action(text: &str) -> Result<Action, String> {
    let (verb, rest) = split_word(text);
    let action = match verb {
        "<" => Action::Arrive(Template::parse(rest)?),
        ">" => Action::Leave(Template::parse(rest)?),
        "expect" => Action::Expect(rest.split(',').map(Claim::parse).collect::<Result<_, _>>()?),
        "write" | "read" => {
            let (asked, done) = match rest.split_once('=') {
                Some((asked, done)) => (asked.trim(), done.trim()),
                None => (rest, rest),
            };
            let (asked, done) = (number(asked)?.into(), number(done)?.into());
            if verb == "write" { Action::Write(asked, done) } else { Action::Read(asked, done) }
        }
        "host" => Action::Host(number(rest)?),
        "room" => Action::Room(number(rest)?),
        "depart" => Action::Depart(number(rest)?),
        "connect" if rest.is_empty() => Action::Connect,
        "listen" if rest.is_empty() => Action::Listen,
        "close" if rest.is_empty() => Action::Close,
        _ => return Err(format!("`{text}` is not a step")),
    };
    Ok(action)
}

impl When {
    fn is_exact(self) -> bool {
        match self {
            Self::After(low, high) => low == high,
            Self::At(low, high) => low == high,
        }
    }

    /// Earliest and latest time of a step, given the time of the previous one.
    pub(crate) fn bounds(self, before: Time) -> (Time, Time) {
        match self {
            Self::After(low, high) => (before + low, before + high),
            Self::At(low, high) => (low, high),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> (usize, String) {
        let failure = parse("test.pkt", text).expect_err("is wrong");
        (failure.line, failure.problem)
    }

    #[test]
    fn a_script_has_a_title_sources_settings_and_steps() {
        let text = "# Title\n# Source: RFC 9293 section 3.5\nstack textbook\nset rto_min_ms = 300\n\
                    \n@10ms connect # a word\n+0..2ms > S 0:1\n  expect cwnd 1, rto 1..3s\n";
        let script = parse("test.pkt", text).expect("a script");
        assert_eq!(script.title, "Title");
        assert_eq!(script.sources, ["RFC 9293 section 3.5"]);
        assert_eq!((script.setup.stack.as_str(), script.setup.settings.len()), ("textbook", 1));
        let lines: Vec<_> =
            script.steps.iter().map(|step| (step.line, step.text.as_str())).collect();
        assert_eq!(lines, [(6, "connect"), (7, "> S 0:1"), (8, "expect cwnd 1, rto 1..3s")]);
        let ms = Duration::from_millis;
        assert_eq!(script.steps[1].when, When::After(Duration::ZERO, ms(2)));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        for (text, line, part) in [
            ("connect\nstack textbook", 2, "before the first step"),
            ("\n+40 connect", 2, "unit"),
            ("+1..2ms connect", 1, "range of times"),
            ("write many", 1, "`many` is not a number"),
            ("shout", 1, "not a step"),
            ("connect now", 1, "not a step"),
            ("> Q 0:1", 1, "flags"),
            ("> . 0:1", 1, "`ack N`"),
            ("> S 0:1 <mss 1460", 1, "end with"),
            ("> S 0:1 <fast 1>", 1, "option `fast 1`"),
            ("> . 1:1 ack 1 push", 1, "`push`"),
            ("expect window 10", 1, "no fact `window`; there are cwnd"),
            ("expect cwnd", 1, "a fact and its value"),
            ("set rto_min_ms 300", 1, "expected"),
        ] {
            let (at, problem) = refusal(text);
            assert!(at == line && problem.contains(part), "{text}: {at}: {problem}");
        }
    }
}
