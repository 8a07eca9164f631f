//! Stack profiles: data that describe how one release of a TCP stack behaves, with a source for
//! each value.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::classic::ClassicSettings;
use crate::linux::LinuxSettings;

/// Profiles that are part of the crate: name and TOML text.
const FILES: &[(&str, &str)] = &[
    ("linux-6.18", include_str!("../profiles/linux-6.18.toml")),
    ("linux-6.12", include_str!("../profiles/linux-6.12.toml")),
    ("linux-6.1", include_str!("../profiles/linux-6.1.toml")),
    ("linux-5.10", include_str!("../profiles/linux-5.10.toml")),
    ("linux-3.5", include_str!("../profiles/linux-3.5.toml")),
    ("linux-2.6.24", include_str!("../profiles/linux-2.6.24.toml")),
    ("windows-7", include_str!("../profiles/windows-7.toml")),
    ("ns-3", include_str!("../profiles/ns-3.toml")),
    ("ns-2-packet", include_str!("../profiles/ns-2-packet.toml")),
    ("ns-2-full", include_str!("../profiles/ns-2-full.toml")),
    ("ns-2-linux", include_str!("../profiles/ns-2-linux.toml")),
    ("textbook", include_str!("../profiles/textbook.toml")),
];

/// A stack profile: how a TCP stack behaves.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Profile {
    /// Name of the profile, as studies write it.
    pub name: String,
    /// One-sentence description.
    pub summary: String,
    /// The endpoint's settings.
    #[serde(flatten)]
    pub stack: StackSettings,
    /// Parameters of algorithms whose values in this release differ from cwndlab's defaults.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub algorithms: BTreeMap<String, BTreeMap<String, i64>>,
    /// Source of each value, by the name of the value; for an algorithm's parameter, the name is
    /// `NAME.PARAMETER`.
    pub sources: BTreeMap<String, String>,
}

/// Settings of the Linux endpoint or of the classic endpoint, serialized under the endpoint's
/// name.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum StackSettings {
    /// Settings of the Linux endpoint.
    Linux(LinuxSettings),
    /// Settings of the classic endpoint.
    Classic(ClassicSettings),
}

/// A profile as written in its file, with one of the two tables of settings.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProfileText {
    name: String,
    summary: String,
    linux: Option<toml::Table>,
    classic: Option<toml::Table>,
    #[serde(default)]
    algorithms: BTreeMap<String, BTreeMap<String, i64>>,
    #[serde(default)]
    sources: BTreeMap<String, String>,
}

/// The reason why a profile cannot be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProfileError {
    /// The text is not a stack profile.
    #[error("this file is not a stack profile: {0}")]
    Text(String),
    /// The setting does not exist, or the value is not valid for the setting.
    #[error("stack setting `{name}`: {problem}")]
    Override {
        /// Name of the setting.
        name: String,
        /// Description of the problem with the setting.
        problem: String,
    },
    /// The profile has neither a Linux nor a classic table of settings, or it has both.
    #[error("profile {0} must have either a [linux] or a [classic] table")]
    Kind(String),
}

impl Profile {
    /// Returns the built-in profile with this name, which each process parses only once.
    ///
    /// # Panics
    /// Panics if a built-in profile is invalid, which a test rules out.
    pub fn shared(name: &str) -> Option<Arc<Self>> {
        static READ: [OnceLock<Arc<Profile>>; FILES.len()] =
            [const { OnceLock::new() }; FILES.len()];
        let index = FILES.iter().position(|(known, _)| *known == name)?;
        let read = || Self::parse(FILES[index].1).expect("profiles of the crate are valid");
        Some(Arc::clone(READ[index].get_or_init(|| Arc::new(read()))))
    }

    /// Returns a copy of the built-in profile with this name.
    ///
    /// # Panics
    /// Panics in the same cases as [`Profile::shared`].
    pub fn by_name(name: &str) -> Option<Self> {
        Self::shared(name).map(|profile| Self::clone(&profile))
    }

    /// Returns the names of all built-in profiles.
    pub fn names() -> impl Iterator<Item = &'static str> {
        FILES.iter().map(|(name, _)| *name)
    }

    /// Returns the TOML text of a built-in profile.
    pub fn text(name: &str) -> Option<&'static str> {
        FILES.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
    }

    /// Parses a profile.
    ///
    /// # Errors
    /// Returns an error if the text is not TOML, has unknown keys, or does not have exactly one
    /// kind of settings.
    pub fn parse(text: &str) -> Result<Self, ProfileError> {
        let ProfileText { name, summary, linux, classic, algorithms, sources } =
            toml::from_str(text).map_err(|error| ProfileError::Text(error.to_string()))?;
        let stack = match (linux, classic) {
            (Some(table), None) => StackSettings::Linux(settings_of(table)?),
            (None, Some(table)) => StackSettings::Classic(settings_of(table)?),
            (None, None) | (Some(_), Some(_)) => return Err(ProfileError::Kind(name)),
        };
        Ok(Self { name, summary, stack, algorithms, sources })
    }

    /// Returns a copy of the profile with some settings changed.
    ///
    /// # Errors
    /// Returns an error if the setting does not exist or the value is not valid for it.
    pub fn with_overrides<V: Serialize>(
        &self,
        overrides: &BTreeMap<String, V>,
    ) -> Result<Self, ProfileError> {
        let mut profile = self.clone();
        for (name, value) in overrides {
            profile = profile.with_override(name, value)?;
        }
        Ok(profile)
    }

    fn with_override<V: Serialize>(self, name: &str, value: &V) -> Result<Self, ProfileError> {
        let stack = match &self.stack {
            StackSettings::Linux(settings) => {
                with_setting(settings, name, value).map(StackSettings::Linux)
            }
            StackSettings::Classic(settings) => {
                with_setting(settings, name, value).map(StackSettings::Classic)
            }
        };
        let refuse = |problem| ProfileError::Override { name: name.to_owned(), problem };
        Ok(Self { stack: stack.map_err(refuse)?, ..self })
    }

    /// Returns the settings of the Linux endpoint if the stack is Linux.
    pub fn linux(&self) -> Option<&LinuxSettings> {
        match &self.stack {
            StackSettings::Linux(settings) => Some(settings),
            StackSettings::Classic(_) => None,
        }
    }
}

/// Parses a table of settings; unknown keys are an error.
fn settings_of<S>(table: toml::Table) -> Result<S, ProfileError>
where
    S: Serialize + DeserializeOwned,
{
    let names: Vec<String> = table.keys().cloned().collect();
    let settings: S = table.try_into().map_err(|error| ProfileError::Text(error.to_string()))?;
    let known =
        toml::Table::try_from(&settings).map_err(|error| ProfileError::Text(error.to_string()))?;
    match names.into_iter().find(|name| !known.contains_key(name)) {
        Some(name) => Err(ProfileError::Text(format!("unknown setting `{name}`"))),
        None => Ok(settings),
    }
}

/// Returns the settings with one value replaced, or a description of the problem with this value.
fn with_setting<S, V>(settings: &S, name: &str, value: &V) -> Result<S, String>
where
    S: Serialize + DeserializeOwned,
    V: Serialize,
{
    let mut table = toml::Table::try_from(settings).map_err(|error| error.to_string())?;
    if !table.contains_key(name) {
        let known: Vec<&str> = table.keys().map(String::as_str).collect();
        return Err(format!("there is no such setting; the settings are {}", known.join(", ")));
    }
    let value = toml::Value::try_from(value).map_err(|error| error.to_string())?;
    table.insert(name.to_owned(), value);
    table.try_into().map_err(|error: toml::de::Error| error.message().to_owned())
}

#[cfg(test)]
mod tests {
    use cwndlab_cc::{Algorithm, Congestion};

    use super::*;

    #[test]
    fn every_profile_is_valid_and_bears_its_name() {
        for name in Profile::names() {
            assert_eq!(Profile::by_name(name).expect("exists").name, name);
        }
    }

    #[test]
    fn every_setting_has_a_source() {
        for name in Profile::names() {
            let profile = Profile::by_name(name).expect("exists");
            let table = match &profile.stack {
                StackSettings::Linux(settings) => toml::Table::try_from(settings),
                StackSettings::Classic(settings) => toml::Table::try_from(settings),
            };
            for setting in table.expect("a table").keys() {
                assert!(profile.sources.contains_key(setting), "{name}: no source of {setting}");
            }
            for (algorithm, parameters) in &profile.algorithms {
                for parameter in parameters.keys() {
                    let source = format!("{algorithm}.{parameter}");
                    assert!(profile.sources.contains_key(&source), "{name}: no source of {source}");
                }
            }
        }
    }

    #[test]
    fn shipped_algorithms_exist_and_take_their_parameters() {
        for name in Profile::names() {
            for (algorithm, parameters) in Profile::by_name(name).expect("exists").algorithms {
                let known = Algorithm::by_name(&algorithm).expect("an algorithm of ours");
                assert_eq!(known.name(), algorithm, "{name} uses an alias");
                Congestion::new(known, &parameters).expect("parameters of the algorithm");
            }
        }
    }

    #[test]
    fn algorithms_that_reduce_the_flight_exist() {
        for name in Profile::names() {
            let StackSettings::Classic(settings) = Profile::by_name(name).expect("exists").stack
            else {
                continue;
            };
            for algorithm in settings.loss_rules.reduces_flight {
                let known = Algorithm::by_name(&algorithm).expect("an algorithm of ours");
                assert_eq!(known.name(), algorithm, "{name} uses an alias");
            }
        }
    }

    #[test]
    fn overrides_change_one_setting() {
        let profile = Profile::by_name("linux-6.1").expect("exists");
        let ten = BTreeMap::from([("initial_cwnd_pkts".to_owned(), 3)]);
        let changed = profile.with_overrides(&ten).expect("a setting");
        let settings = profile.linux().expect("linux").clone();
        let expected = LinuxSettings { initial_cwnd_pkts: 3, ..settings };
        assert_eq!(changed, Profile { stack: StackSettings::Linux(expected), ..profile });
    }

    #[test]
    fn a_profile_has_settings_of_one_endpoint() {
        let text = "name = 'n'\nsummary = 's'\n";
        assert_eq!(Profile::parse(text), Err(ProfileError::Kind("n".to_owned())));
        let table = |name: &str| {
            let text = Profile::text(name).expect("exists");
            let from = text.find("\n[").expect("a table") + 1;
            let until = text[from..].find("\n[").map_or(text.len(), |end| from + end + 1);
            text[from..until].to_owned()
        };
        let [linux, classic] = ["linux-6.1", "textbook"].map(table);
        assert!(Profile::parse(&format!("{text}{linux}")).is_ok());
        let unknown = Profile::parse(&format!("{text}{linux}initial_window = 3\n"));
        let problem = "unknown setting `initial_window`".to_owned();
        assert_eq!(unknown, Err(ProfileError::Text(problem)));
        let both = Profile::parse(&format!("{text}{linux}{classic}"));
        assert_eq!(both, Err(ProfileError::Kind("n".to_owned())));
    }

    #[test]
    fn unknown_settings_and_bad_values_are_refused() {
        let profile = Profile::by_name("linux-6.1").expect("exists");
        let unknown = BTreeMap::from([("initial_window".to_owned(), 3)]);
        let error = profile.with_overrides(&unknown).expect_err("unknown").to_string();
        assert!(error.contains("initial_window") && error.contains("initial_cwnd_pkts"), "{error}");
        let bad = BTreeMap::from([("initial_cwnd_pkts".to_owned(), "many")]);
        assert!(profile.with_overrides(&bad).is_err());
    }
}
