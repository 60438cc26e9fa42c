//! The choice between few rounds, few bytes of keys, and both.

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
    /// Few bytes of keys, few rounds, and few bytes sent.
    ///
    /// GeLU and the exponentials of softmax are tables of lines. Steps with one element for a row
    /// (means, roots, reciprocals) and the last comparisons of a maximum have larger keys that save
    /// rounds. Norms with learned factors open these once and not for each row. For a layer of
    /// BERT-base that is fewer rounds than splines take, with hardly more bytes of keys than
    /// [`KeyBytes`](Self::KeyBytes).
    #[serde(rename = "balanced")]
    Balanced,
}

impl Preference {
    /// Every preference.
    pub const ALL: [Self; 3] = [Self::Rounds, Self::KeyBytes, Self::Balanced];

    /// Its name on a command line and in key folders.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rounds => "rounds",
            Self::KeyBytes => "bytes",
            Self::Balanced => "balanced",
        }
    }

    /// The end of a plan's title.
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::Rounds => "",
            Self::KeyBytes => " with fewest bytes of keys",
            Self::Balanced => " with few bytes of keys and few rounds",
        }
    }

    /// Whether steps with few elements have larger keys that save rounds.
    pub(crate) const fn saves_rounds_of_rows(self) -> bool {
        matches!(self, Self::Balanced)
    }

    /// Whether the factors of a norm are opened once and not for each row, for one more round.
    pub(crate) const fn opens_factors_once(self) -> bool {
        matches!(self, Self::Balanced)
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
        assert_eq!(refused, "unknown preference `speed`; expected one of: rounds, bytes, balanced");
    }
}
