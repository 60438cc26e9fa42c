//! Serde form of field elements, as in stwo: canonical words in nested pairs.
//!
//! Other words are rejected.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

use super::{CM31, M31, QM31};

#[derive(Serialize, Deserialize)]
#[serde(rename = "M31")]
struct Word(u32);

#[derive(Serialize, Deserialize)]
#[serde(rename = "CM31")]
struct Complex(M31, M31);

#[derive(Serialize, Deserialize)]
#[serde(rename = "QM31")]
struct Secure(CM31, CM31);

impl Serialize for M31 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Word(self.word()).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for M31 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Word(word) = Word::deserialize(deserializer)?;
        Self::from_canonical(word).ok_or_else(|| D::Error::custom("a field element is not canonical"))
    }
}

impl Serialize for CM31 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Complex(self.a, self.b).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for CM31 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Complex::deserialize(deserializer).map(|Complex(a, b)| Self::new(a, b))
    }
}

impl Serialize for QM31 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Secure(self.a, self.b).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for QM31 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Secure::deserialize(deserializer).map(|Secure(a, b)| Self::new(a, b))
    }
}
