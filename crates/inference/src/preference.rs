//! The choice between few rounds and few bytes of keys.

use core::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::InferenceError;

/// The cost that gates of a model are chosen to keep low.
///
/// Public: both parties and the dealer need the same. It is part of the plan, so that others refuse
/// each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub enum Preference {
    /// Fewest rounds: GeLU and the exponentials of softmax are splines.
    #[default]
    #[serde(rename = "rounds")]
    Rounds,
    /// Fewest bytes of keys: GeLU and the exponentials of softmax are tables of lines.
    ///
    /// Each of them takes five rounds more, and more bytes are sent.
    #[serde(rename = "bytes")]
    KeyBytes,
}

impl Preference {
    /// Every preference.
    pub const ALL: [Self; 2] = [Self::Rounds, Self::KeyBytes];

    /// Its name on a command line and in key folders.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rounds => "rounds",
            Self::KeyBytes => "bytes",
        }
    }

    /// The end of a plan's title.
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::Rounds => "",
            Self::KeyBytes => " with fewest bytes of keys",
        }
    }
}

impl fmt::Display for Preference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Preference {
    type Err = InferenceError;

    fn from_str(name: &str) -> Result<Self, InferenceError> {
        let found = Self::ALL.into_iter().find(|preference| preference.name() == name);
        let expected = || Self::ALL.map(Self::name).join(", ");
        found.ok_or_else(|| InferenceError::Preference { name: name.to_owned(), expected: expected() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_again_and_others_are_refused_with_the_list() {
        for preference in Preference::ALL {
            assert_eq!(preference.name().parse::<Preference>().unwrap(), preference);
            let json = serde_json::to_string(&preference).unwrap();
            assert_eq!(json, format!("\"{preference}\""));
            assert_eq!(serde_json::from_str::<Preference>(&json).unwrap(), preference);
        }
        let refused = "speed".parse::<Preference>().unwrap_err().to_string();
        assert_eq!(refused, "unknown preference `speed`; expected one of: rounds, bytes");
    }
}
