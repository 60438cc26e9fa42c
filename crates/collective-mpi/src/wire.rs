//! What ranks tell each other, as words.
//!
//! A number is two words, the lower one first; a text is its length and a word for each of its
//! bytes.

use backend_api::CollectiveError;
use collective::Call;

/// The arrival of a rank at a call, sent to each other rank before any words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Arrival {
    /// How many words it will send.
    pub(crate) words: u64,
    /// The call, for people.
    pub(crate) said: String,
    /// The call, whole: equal where calls are.
    pub(crate) call: Vec<u32>,
}

/// A rank goes on with no exchange any more, after those that it completed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Notice {
    /// It ends.
    Leaving {
        /// How many exchanges it completed.
        completed: u64,
    },
    /// The group has failed.
    Failed {
        /// How many exchanges it completed.
        completed: u64,
        /// Why.
        why: CollectiveError,
    },
}

impl Arrival {
    pub(crate) fn new(call: &Call, words: usize) -> Self {
        let mut whole = Writer::default();
        whole.text(call.name);
        whole.text(call.element);
        call.lens.iter().for_each(|&len| whole.number(len as u64));
        Self { words: words as u64, said: call.to_string(), call: whole.0 }
    }

    pub(crate) fn encode(&self) -> Vec<u32> {
        let mut writer = Writer::default();
        writer.number(self.words);
        writer.text(&self.said);
        writer.0.extend_from_slice(&self.call);
        writer.0
    }

    /// `None` if no rank wrote this.
    pub(crate) fn decode(words: &[u32]) -> Option<Self> {
        let mut reader = WordReader(words);
        Some(Self { words: reader.number()?, said: reader.text()?, call: reader.0.to_vec() })
    }
}

impl Notice {
    pub(crate) fn encode(&self) -> Vec<u32> {
        let mut writer = Writer::default();
        let Self::Failed { completed, why } = self else {
            let (Self::Leaving { completed } | Self::Failed { completed, .. }) = self;
            writer.number(*completed);
            writer.0.push(0);
            return writer.0;
        };
        writer.number(*completed);
        match why {
            CollectiveError::Gone { rank } => writer.named(1, *rank, []),
            CollectiveError::GaveUp { rank } => writer.named(2, *rank, []),
            CollectiveError::Stalled { rank, call, seconds } => {
                writer.named(3, *rank, [call]);
                writer.number(*seconds);
            }
            CollectiveError::Disagrees { rank, expected, got } => writer.named(4, *rank, [expected, got]),
            other => writer.named(5, 0, [&other.to_string()]),
        }
        writer.0
    }

    /// `None` if no rank wrote this.
    pub(crate) fn decode(words: &[u32]) -> Option<Self> {
        let mut reader = WordReader(words);
        let completed = reader.number()?;
        let kind = reader.word()?;
        if kind == 0 {
            return Some(Self::Leaving { completed });
        }
        let rank = usize::try_from(reader.number()?).ok()?;
        let why = match kind {
            1 => CollectiveError::Gone { rank },
            2 => CollectiveError::GaveUp { rank },
            3 => CollectiveError::Stalled { rank, call: reader.text()?, seconds: reader.number()? },
            4 => CollectiveError::Disagrees { rank, expected: reader.text()?, got: reader.text()? },
            5 => CollectiveError::Transport(reader.text()?),
            _ => return None,
        };
        Some(Self::Failed { completed, why })
    }
}

#[derive(Default)]
struct Writer(Vec<u32>);

impl Writer {
    fn number(&mut self, number: u64) {
        self.0.extend([number as u32, (number >> 32) as u32]);
    }

    fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.0.extend(text.bytes().map(u32::from));
    }

    fn named<const N: usize>(&mut self, kind: u32, rank: usize, texts: [&String; N]) {
        self.0.push(kind);
        self.number(rank as u64);
        texts.iter().for_each(|text| self.text(text));
    }
}

struct WordReader<'a>(&'a [u32]);

impl WordReader<'_> {
    fn word(&mut self) -> Option<u32> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }

    fn number(&mut self) -> Option<u64> {
        Some(u64::from(self.word()?) | u64::from(self.word()?) << 32)
    }

    fn text(&mut self) -> Option<String> {
        let len = usize::try_from(self.number()?).ok()?;
        let (text, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        let bytes: Vec<u8> = text.iter().map(|&byte| u8::try_from(byte)).collect::<Result<_, _>>().ok()?;
        String::from_utf8(bytes).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(name: &'static str, lens: &[usize]) -> Call {
        Call { name, element: "core_types::field::M31", lens: lens.to_vec() }
    }

    #[test]
    fn arrivals_come_as_they_went_and_differ_where_calls_do() {
        let first = Arrival::new(&call("all-gather", &[1, 2, 3]), 7 << 33);
        assert_eq!(Arrival::decode(&first.encode()), Some(first.clone()));
        assert_eq!(first.said, "all-gather of M31 (1 to 3, 6 in all)");
        let others = [
            call("all-gather", &[1, 3, 3]),
            call("all-gather", &[1, 2]),
            call("all-to-all", &[1, 2, 3]),
            Call { element: "u32", ..call("all-gather", &[1, 2, 3]) },
        ];
        for other in others {
            assert_ne!(Arrival::new(&other, 7).call, first.call, "{other}");
        }
        assert_eq!(Arrival::new(&call("all-gather", &[1, 2, 3]), 0).call, first.call, "words are no part of a call");
    }

    #[test]
    fn notices_come_as_they_went() {
        let text = || "barrier of ü".to_owned();
        let errors = [
            CollectiveError::Gone { rank: 3 },
            CollectiveError::GaveUp { rank: usize::MAX },
            CollectiveError::Stalled { rank: 1, call: text(), seconds: 600 },
            CollectiveError::Disagrees { rank: 2, expected: text(), got: String::new() },
            CollectiveError::Transport(text()),
        ];
        let failed = errors.map(|why| Notice::Failed { completed: 1 << 40, why });
        for notice in failed.into_iter().chain([Notice::Leaving { completed: 9 }]) {
            assert_eq!(Notice::decode(&notice.encode()), Some(notice));
        }
        // Mistakes of a caller end no group, but what they say would come.
        let other = CollectiveError::Root { ranks: 2, got: 5 };
        let came = Notice::decode(&Notice::Failed { completed: 0, why: other.clone() }.encode());
        assert_eq!(came, Some(Notice::Failed { completed: 0, why: CollectiveError::Transport(other.to_string()) }));
    }

    #[test]
    fn what_no_rank_wrote_is_refused() {
        let whole = Notice::Failed { completed: 1, why: CollectiveError::Transport("why".to_owned()) }.encode();
        for len in 0..whole.len() {
            assert_eq!(Notice::decode(&whole[..len]), None, "{len}");
        }
        let mut longer = whole.clone();
        longer[5] = 4;
        assert_eq!(Notice::decode(&longer), None, "a text that ends before its length");
        let mut unknown = whole;
        unknown[2] = 6;
        assert_eq!(Notice::decode(&unknown), None, "a kind that there is not");
        let arrival = Arrival::new(&call("barrier", &[]), 3).encode();
        assert_eq!(Arrival::decode(&arrival[..5]), None);
    }
}
