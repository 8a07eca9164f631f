//! Properties of any text that is read as a link.

use cwndlab_texts::{
    Document, Files, PacketTrains, Place, PresetFile, Problem, Recording, Told, Way, checked_link,
    counts_of, expand, figures_of, parse_inline, resolve,
};
use serde_json::Value;

/// Three of the presets, and a recording under any name.
struct Shelf;

impl Files for Shelf {
    fn preset(&self, name: &str) -> Result<PresetFile, String> {
        let text = match name {
            "lossy" => include_str!("../../../../python/cwndlab/data/links/lossy.toml"),
            "lte-typical" => include_str!("../../../../python/cwndlab/data/links/lte-typical.toml"),
            "wifi-good" => include_str!("../../../../python/cwndlab/data/links/wifi-good.toml"),
            _ => return Err(format!("unknown link {name:?}")),
        };
        Ok(PresetFile {
            name: format!("{name}.toml"),
            text: text.to_owned(),
            ..PresetFile::default()
        })
    }

    fn recording(&self, told: &Told, way: Way) -> Result<Recording, String> {
        Ok(Recording {
            name: format!("{}:{way:?}", told.path),
            is_mahimahi: true,
            mean_bits_per_sec: 24_000_000,
            is_of_folder: told.path.ends_with('/'),
            light: told.path.ends_with('/').then(PacketTrains::default),
        })
    }

    fn packet_trains(&self, path: &str) -> Result<PacketTrains, String> {
        Ok(PacketTrains { name: path.to_owned(), shortest_delay_ns: 3_000_000 })
    }
}

/// Reads a text as a multi-line TOML file or a one-line link, and resolves it; returns the path, if
/// any. Every error must be a single sentence at a place in the link.
pub(crate) fn check(text: &str) -> Option<Value> {
    let (link, reverse) = if text.contains('\n') {
        let document = Document::parse("link.toml", text).ok()?;
        (document.value.get("link")?.clone(), document.value.get("reverse_link").cloned())
    } else {
        (parse_inline(text).ok()?, None)
    };
    let mut problems = Vec::new();
    let link = checked_link(&link, &Place::of("link"), &mut problems);
    let reverse =
        reverse.map(|link| checked_link(&link, &Place::of("reverse_link"), &mut problems));
    refused(&problems);
    if !problems.is_empty() {
        return None;
    }
    let again = checked_link(&link, &Place::of("link"), &mut problems);
    assert_eq!((again, problems.len()), (link.clone(), 0), "the one form is a link, and stays");
    if let Ok(whole) = expand(&link, &Shelf) {
        counts_of(&whole);
    }
    match resolve(Some(&link), reverse.as_ref(), &Shelf) {
        Ok(found) => {
            figures_of(&found.path);
            Some(found.path)
        }
        Err(problems) => {
            assert!(!problems.is_empty());
            refused(&problems);
            None
        }
    }
}

fn refused(problems: &[Problem]) {
    for problem in problems {
        assert!(!problem.message.trim().is_empty());
        assert!(!problem.place.0.is_empty(), "{}", problem.message);
    }
}
