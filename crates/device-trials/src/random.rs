//! Random programs: their inputs, and the results that the host computes.

use crate::{
    outcome::{Wrong, compare},
    programs,
};

/// Words that arithmetic tends to get wrong, as integers or as floats.
const EDGES: [u64; 24] = [
    0,
    1,
    2,
    31,
    32,
    64,
    0x7f,
    0x80,
    0xff,
    0x7fff,
    0x8000,
    0xffff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    u64::MAX,
    0x3f80_0000_3f80_0000,
    0x7f80_0000_0000_0001,
    0x7fc0_0000_ff80_0000,
    0x3ff0_0000_0000_0000,
    0xfff8_0000_0080_0000,
    0x4f00_0000_5f00_0000,
];

/// A family of random programs: its kernel, and its programs as the host runs them.
///
/// The kernel takes program numbers, three words for each, room for a result of each, and how many
/// there are; each is run by one thread.
#[derive(Clone, Copy, Debug)]
pub struct Family {
    /// Name of the kernel, one of [`PROGRAMS`](crate::PROGRAMS).
    pub kernel: &'static str,
    count: u32,
    run: fn(u32, u64, u64, u64) -> u64,
}

macro_rules! family {
    ($name:ident) => {
        Family {
            kernel: concat!("differential_", stringify!($name)),
            count: programs::$name::COUNT,
            run: programs::$name::run,
        }
    };
}

/// All families.
pub const FAMILIES: [Family; 9] = [
    family!(narrow),
    family!(words),
    family!(wide),
    family!(single),
    family!(double),
    family!(casts),
    family!(control),
    family!(arrays),
    family!(calls),
];

/// A program and its input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// Number of the program in its family.
    pub program: u32,
    /// Its three words.
    pub input: [u64; 3],
}

/// The assignment of programs to the lanes of a warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrangement {
    /// The lanes of a warp run one program, if there are a multiple of 32 inputs.
    Together,
    /// Neighbouring lanes run different programs.
    Mixed,
}

impl Arrangement {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Together, Self::Mixed];

    /// In words.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Together => "one program to a warp",
            Self::Mixed => "one program to a lane",
        }
    }
}

impl Family {
    /// Every program of the family on `inputs` inputs.
    #[must_use]
    pub fn work(&self, arrangement: Arrangement, inputs: usize) -> Vec<Work> {
        let count = self.count;
        let work = |program, index| Work { program, input: input(program, index) };
        match arrangement {
            Arrangement::Together => {
                (0..count).flat_map(|program| (0..inputs).map(move |index| work(program, index))).collect()
            }
            Arrangement::Mixed => {
                (0..inputs).flat_map(|index| (0..count).map(move |program| work(program, index))).collect()
            }
        }
    }

    /// The host's result.
    #[must_use]
    pub fn expected(&self, &Work { program, input: [a, b, c] }: &Work) -> u64 {
        (self.run)(program, a, b, c)
    }

    /// Compares a device's results, one for each piece of work, with the host's.
    ///
    /// # Errors
    /// [`Wrong`] with the first wrong result.
    pub fn judge(&self, work: &[Work], got: &[u64]) -> Result<(), Wrong> {
        let expected: Vec<_> = work.iter().map(|work| self.expected(work)).collect();
        compare(&expected, got, |index| {
            let Work { program, input: [a, b, c] } = work[index];
            format!("p{program}({a:#x}, {b:#x}, {c:#x})")
        })
    }
}

/// The finaliser of SplitMix64, as a source of test words.
fn word(seed: u64) -> u64 {
    let mut x = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// Three words: edges, random bits, small numbers, or floats of moderate size.
fn input(program: u32, index: usize) -> [u64; 3] {
    let seed = u64::from(program) << 32 | (index as u64) << 4;
    [0, 1, 2].map(|which| {
        let bits = word(seed + which);
        match (index as u64 + which) % 4 {
            0 => EDGES[(bits % EDGES.len() as u64) as usize],
            1 => bits,
            2 => bits >> (bits % 64),
            _ if bits & 1 == 0 => f64::to_bits((bits >> 11) as f64 / (bits % 1000 + 1) as f64 - 1e14),
            _ => {
                let halves = [bits as u32, (bits >> 32) as u32].map(|half| (half as f32 / 1e6 - 2e3).to_bits());
                u64::from(halves[0]) << 32 | u64::from(halves[1])
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    const INPUTS: usize = 160;

    #[test]
    fn programs_depend_on_their_inputs() {
        let (mut telling, mut all) = (0, 0);
        for family in FAMILIES {
            for program in family.work(Arrangement::Together, INPUTS).chunks(INPUTS) {
                let results: HashSet<_> = program.iter().map(|work| family.expected(work)).collect();
                telling += u32::from(results.len() > INPUTS / 8);
                all += 1;
            }
        }
        assert!(all >= 200 && telling * 10 >= all * 9, "{telling} of {all} programs tell inputs apart");
    }

    #[test]
    fn arrangements_order_the_same_work() {
        let family = &FAMILIES[0];
        let [together, mut mixed] = Arrangement::ALL.map(|arrangement| family.work(arrangement, 5));
        assert!(together[..5].iter().all(|work| work.program == 0) && mixed[1].program == 1);
        mixed.sort_by_key(|work| work.program);
        assert_eq!(mixed, together);
    }

    #[test]
    fn one_wrong_bit_is_found_with_its_program_and_input() {
        let family = &FAMILIES[1];
        let work = family.work(Arrangement::Mixed, 3);
        let mut results: Vec<_> = work.iter().map(|work| family.expected(work)).collect();
        assert_eq!(family.judge(&work, &results), Ok(()));
        results[7] ^= 1 << 63;
        let wrong = family.judge(&work, &results).unwrap_err();
        let Work { program, input: [a, ..] } = work[7];
        assert_eq!((wrong.wrong, wrong.all), (1, work.len()));
        assert!(wrong.first.starts_with(&format!("p{program}({a:#x}, ")), "{wrong}");
    }
}
