//! Damaged and hostile key bundles: every one gets a typed error, without a panic and without a large allocation.

use pfss::{
    BundleError, Dealer, Gate, KeyBundle,
    suf::{CoeffMode, Pred, SufError, SufModes},
};

use crate::{
    common::{descriptor, suf_gate, two_bits},
    wiping::asked_bytes,
};

/// Reads a bundle, at once and piece by piece, and compares both readers and the memory that they ask for.
///
/// The bound is a multiple of the input, larger where a seed may be expanded, and a little for errors and tables.
fn read(bytes: &[u8]) -> Result<KeyBundle, BundleError> {
    let most = if bytes.get(4) == Some(&2) { 18 } else { 4 };
    let before = asked_bytes();
    let result = KeyBundle::from_bytes(bytes);
    let asked = asked_bytes() - before;
    assert!(asked <= most * bytes.len() + 4096, "{asked} bytes asked for {} bytes of input", bytes.len());
    let before = asked_bytes();
    let pieces = read_pieces(bytes);
    let asked = asked_bytes() - before;
    assert!(asked <= (most + 1) * bytes.len() + 8192, "{asked} bytes asked for pieces of {} bytes", bytes.len());
    match (&result, pieces) {
        (Ok(at_once), Ok(pieces)) => assert_eq!(*pieces.to_bytes(), *at_once.to_bytes()),
        (at_once, pieces) => assert_eq!(pieces.err().as_ref(), at_once.as_ref().err()),
    }
    result
}

fn read_pieces(bytes: &[u8]) -> Result<KeyBundle, BundleError> {
    let mut rest = bytes;
    KeyBundle::read_pieces(bytes.len(), |piece| {
        let (next, after) = rest.split_at(piece.len());
        piece.copy_from_slice(next);
        rest = after;
        Ok::<(), BundleError>(())
    })
}

fn refusal(bytes: &[u8]) -> BundleError {
    read(bytes).map(|_| ()).unwrap_err()
}

fn bundles(gate: Gate, count: usize) -> [Vec<u8>; 2] {
    let q = runtime::cpu().unwrap();
    Dealer::insecure_from_seed(42).deal(&q, &gate, count).unwrap().map(|bundle| bundle.to_bytes().to_vec())
}

/// A clipped line on 4 bits and the sign, one of them by a conjunction of shares.
fn suf(coeffs: CoeffMode) -> Gate {
    let (preds, [_, conjunction]) = ([Pred::Msb, Pred::LtLow { f: 2, gamma: 1 }], two_bits());
    let desc = descriptor(4, &preds, &[conjunction], &[(0, &[&[3, 1]]), (8, &[&[3, 0]])]);
    suf_gate(desc, SufModes { coeffs, ..SufModes::default() })
}

/// A small bundle of each kind for each party.
fn corpus() -> Vec<Vec<u8>> {
    let gates = [
        Gate::full_predicates(9).unwrap().with_masks(2).unwrap(),
        Gate::sign_predicates(8).unwrap(),
        Gate::low_predicates(12, 3).unwrap(),
        Gate::relu(10).unwrap(),
        Gate::truncate_reduce(16, 8).unwrap(),
        Gate::gap_ars(64, 12).unwrap(),
        Gate::gap_ars(64, 12).and_then(Gate::in_one_round).unwrap(),
        Gate::interval_powers(3, 2).unwrap(),
        Gate::lrs(12, 9).unwrap(),
        Gate::ars(9, 3).unwrap(),
        Gate::relu_ars(8, 7).unwrap(),
        suf(CoeffMode::MaskedSelect),
        Gate::lut(3, 11).unwrap(),
        Gate::product(9).unwrap(),
        Gate::relu_within(12, 9).unwrap(),
        Gate::lut(3, 11).unwrap().with_masked_outputs().unwrap(),
    ];
    gates.into_iter().flat_map(|gate| bundles(gate, 3)).collect()
}

/// A small bundle of each kind for one party, the parties in turn.
fn corpus_of_one_party() -> impl Iterator<Item = Vec<u8>> {
    corpus().into_iter().enumerate().filter(|(index, _)| index / 2 % 2 == index % 2).map(|(_, bytes)| bytes)
}

/// Gives changed bytes a right content digest again, as an attacker would.
fn reseal(bytes: &mut [u8]) {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&bytes[..96]);
    hasher.update(&bytes[128..]);
    bytes[96..128].copy_from_slice(hasher.finalize().as_bytes());
}

#[test]
fn every_bundle_survives_a_round_trip_byte_for_byte() {
    let more = [bundles(Gate::relu(64).unwrap(), 0), bundles(suf(CoeffMode::StepDcf), 3)];
    for bytes in corpus().into_iter().chain(more.into_iter().flatten()) {
        let bundle = read(&bytes).unwrap();
        assert_eq!(bundle.to_bytes()[..], bytes[..]);
    }
}

#[test]
fn reading_piece_by_piece_takes_the_memory_of_the_keys_alone() {
    for bytes in bundles(Gate::relu(64).unwrap(), 2000) {
        let before = asked_bytes();
        let bundle = read_pieces(&bytes).unwrap();
        let asked = asked_bytes() - before;
        // 55 correction words, 2 leaves, a root, 3 words and a bit for each of 2016 elements
        let keys = 2016 * (16 * (55 + 2 + 1) + 24) + 2016 / 8;
        assert!((keys..keys + 4096).contains(&asked), "{asked} bytes asked, for {keys} bytes of keys");
        assert!((keys..keys + 33).contains(&(bundle.memory_bytes() as usize)), "{}", bundle.memory_bytes());
    }
}

#[test]
fn bytes_at_any_address_are_read_alike() {
    for bytes in corpus() {
        for shift in 1..16 {
            let moved = [&vec![0xff; shift], &bytes[..]].concat();
            assert_eq!(read(&moved[shift..]).unwrap().to_bytes()[..], bytes[..], "{shift} bytes on");
        }
    }
}

#[test]
fn every_truncated_bundle_is_refused_at_every_byte() {
    for bytes in corpus() {
        for len in 0..bytes.len() {
            let expected = if len < 128 {
                BundleError::Truncated { expected: 128, got: len }
            } else {
                BundleError::Length { expected: bytes.len(), got: len }
            };
            assert_eq!(refusal(&bytes[..len]), expected);
        }
        for extra in [1, 16, 64] {
            let long = [&bytes[..], &vec![0; extra]].concat();
            assert_eq!(refusal(&long), BundleError::Length { expected: bytes.len(), got: bytes.len() + extra });
        }
    }
}

#[test]
fn every_single_bit_flip_is_refused() {
    for mut bytes in corpus_of_one_party() {
        for bit in 0..8 * bytes.len() {
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(read(&bytes).is_err(), "bit {bit}");
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }
}

#[test]
fn every_value_of_every_header_and_table_byte_is_refused_or_harmless_even_with_a_right_digest() {
    for mut bytes in corpus_of_one_party() {
        let original = bytes.clone();
        let table_end = 128 + 48 * usize::from(bytes[20]);
        for at in (0..96).chain(128..table_end) {
            for value in 0..=255 {
                bytes[at] = value;
                reseal(&mut bytes);
                match read(&bytes) {
                    // the nonce is free, both parties' bundles without a seed look alike, and so do 1 to 32 elements,
                    // and inputs that come open
                    Ok(_) => {
                        let free = (48..64).contains(&at)
                            || (at == 7 && value < 2 && original[4] == 1)
                            || (at == 18 && value == original[at] | 2)
                            || (at == 24 && (1..=32).contains(&value));
                        assert!(value == original[at] || free, "byte {at} = {value}");
                    }
                    Err(error) => assert_ne!(value, original[at], "{error}"),
                }
            }
            bytes.copy_from_slice(&original);
        }
    }
}

#[test]
fn the_errors_name_what_is_wrong() {
    let [_, bytes] = bundles(Gate::gap_ars(64, 12).unwrap(), 3);
    let with = |at: usize, value: &[u8]| {
        let mut bytes = bytes.clone();
        bytes[at..at + value.len()].copy_from_slice(value);
        reseal(&mut bytes);
        refusal(&bytes)
    };
    assert_eq!(with(0, b"PFK2"), BundleError::Magic { expected: *b"PFK1", got: *b"PFK2" });
    assert_eq!(with(4, &[0, 0]), BundleError::Version { expected: 1, got: 0 });
    assert_eq!(with(4, &[2, 0]), BundleError::Version { expected: 1, got: 2 }, "a seed for party 1");
    assert_eq!(with(4, &[3, 0]), BundleError::Version { expected: 2, got: 3 });
    assert_eq!(with(6, &[99]), BundleError::Kind { got: 99 });
    assert_eq!(with(7, &[2]), BundleError::Party { got: 2 });
    assert!(matches!(with(9, &[63]), BundleError::Gate { reason } if reason.contains("1 to 62")));
    assert_eq!(with(10, &[9]), BundleError::Field { field: "prg", expected: 1, got: 9 });
    assert_eq!(with(18, &[4]), BundleError::Field { field: "flags", expected: 0, got: 4 });
    assert_eq!(with(20, &[9]), BundleError::Field { field: "sections", expected: 5, got: 9 });
    assert_eq!(with(24, &[33]), BundleError::Field { field: "padded count", expected: 64, got: 32 });
    assert!(matches!(with(64, &[bytes[64] ^ 1]), BundleError::Digest { what: "gate", .. }));
    let offset = |index: usize| 128 + 48 * index + 32;
    let expected = |index, field, expected, got| BundleError::Section { index, field, expected, got };
    assert_eq!(with(offset(0), &[1]), expected(0, "offset", 512, 513));
    assert_eq!(with(offset(1), &512u64.to_le_bytes()), expected(1, "offset", 1024, 512), "overlapping sections");
    assert_eq!(with(offset(4) + 8, &u64::MAX.to_le_bytes()), expected(4, "length", 4, u64::MAX));
    assert_eq!(with(500, &[5]), BundleError::Gap { offset: 500, got: 5 });
    assert_eq!(with(512 + 16 * 7, &[bytes[512 + 16 * 7] | 2]), BundleError::Root { index: 7 });
    let mut flipped = bytes.clone();
    flipped[600] ^= 4;
    assert!(matches!(refusal(&flipped), BundleError::Digest { what: "content", .. }));

    let [_, mut narrow] = bundles(Gate::truncate_reduce(16, 8).unwrap(), 3);
    let words = 128 + 48 * 4; // root, leaf, words, bits: the sections start at 512, 1024, 2048, 3 * 256 later
    assert_eq!(words, 320);
    narrow[2048 + 8 * (32 + 5) + 2] = 1;
    reseal(&mut narrow);
    assert_eq!(refusal(&narrow), BundleError::Share { bits: 16, row: 1, index: 5 });
}

#[test]
fn the_errors_of_a_program_name_what_is_wrong() {
    let [bytes, other] = bundles(suf(CoeffMode::MaskedSelect), 3);
    assert_eq!(bytes[128..132], [8, 0, 0, 0], "the program comes first");
    let start = u64::from_le_bytes(bytes[160..168].try_into().unwrap()) as usize;
    let with = |at: usize, value: u64| {
        let mut bytes = bytes.clone();
        bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        reseal(&mut bytes);
        refusal(&bytes)
    };
    let section = |field, expected, got| BundleError::Section { index: 0, field, expected, got };
    assert_eq!(with(160, u64::MAX), section("offset", bytes.len() as u64, u64::MAX));
    assert_eq!(with(168, 1 << 40), section("length", (bytes.len() - start) as u64, 1 << 40));
    let program = |error| BundleError::Program(error);
    assert_eq!(with(start, 7), program(SufError::Tag { what: "mode of predicates", got: 7 }));
    assert_eq!(with(start + 32, 65), program(SufError::Cap { what: "ring width", max: 64, got: 65 }));
    assert_eq!(with(start + 24, 5), program(SufError::Bits { max: 4, got: 5 }));
    assert_eq!(with(start + 24, 0), program(SufError::Bits { max: 4, got: 0 }));
    assert!(matches!(with(168, 40), BundleError::Program(SufError::Truncated { .. })));
    assert_eq!(with(start + 8, 3), program(SufError::Tag { what: "mode of coefficients", got: 3 }));
    assert_eq!(with(start + 16, 2), program(SufError::Tag { what: "mode of bits", got: 2 }));
    // the entry of the program has to be there before it is read
    for (len, expected) in
        [(175, BundleError::Truncated { expected: 176, got: 175 }), (176, section("offset", 176, start as u64))]
    {
        let mut short = bytes[..len].to_vec();
        short[40..48].copy_from_slice(&(len as u64).to_le_bytes());
        assert_eq!(refusal(&short), expected);
    }
    // another program of the same shape: the digest of the gate tells
    // modes, counts, names, predicates, start and length
    let coefficient = start + 4 * 8 + 6 * 8 + 2 * 9 + 4 * 8 + 2 * 8;
    assert!(matches!(with(coefficient, 4), BundleError::Digest { what: "gate", .. }));
    // keys of other modes do not fit
    assert!(matches!(with(start + 8, 0), BundleError::Field { field: "payload words", expected: 2, got: 0 }));
    assert_eq!(bytes[start..start + 8 * 9], other[start..start + 8 * 9], "both parties hold the same program");
}

/// The public bytes grow until the claimed program is read; a copy for each piece would take 17 times the bundle.
#[test]
fn a_program_that_claims_a_long_bundle_takes_memory_in_proportion() {
    let [_, mut bytes] = bundles(suf(CoeffMode::MaskedSelect), 3);
    let start = u64::from_le_bytes(bytes[160..168].try_into().unwrap());
    bytes.resize(8 << 20, 0);
    let len = bytes.len() as u64;
    bytes[40..48].copy_from_slice(&len.to_le_bytes());
    bytes[168..176].copy_from_slice(&(len - start).to_le_bytes());
    assert!(matches!(refusal(&bytes), BundleError::Program(SufError::Trailing { .. })));
}

/// A seed expands to as much as a count says, so little else may not stand for much.
#[test]
fn a_seed_is_read_for_party_0_of_gates_with_enough_other_keys() {
    // A truth table of 16 bytes, and 8 bytes for each word: from 32 words on the seed would stand for too much.
    let predicates = |masks| Gate::low_predicates(12, 3).unwrap().with_masks(masks).unwrap();
    let versions = |gate| bundles(gate, 3).map(|bytes| u16::from_le_bytes([bytes[4], bytes[5]]));
    assert_eq!((versions(predicates(30)), versions(predicates(31))), ([2, 1], [1, 1]));
    assert_eq!(versions(Gate::product(9).unwrap()), [1, 1]);
    for gate in [predicates(31), Gate::product(64).unwrap()] {
        let [mut bytes, _] = bundles(gate, 3);
        bytes[4] = 2;
        reseal(&mut bytes);
        assert_eq!(refusal(&bytes), BundleError::Version { expected: 1, got: 2 });
    }
    // the most that a seed may stand for
    for count in [1, 33, 4096] {
        let [bytes, _] = bundles(predicates(30), count);
        assert_eq!(read(&bytes).unwrap().to_bytes()[..], bytes[..]);
    }
    // another seed is another key, with its own digest
    let [bytes, _] = bundles(Gate::gap_ars(64, 12).unwrap(), 3);
    let seed = KeyBundle::from_bytes(&bytes).unwrap().sections()[0].clone();
    assert_eq!((seed.name, seed.bytes), ("seed", 32));
    for at in 0..32 {
        let mut other = bytes.clone();
        other[seed.offset as usize + at] ^= 1;
        assert!(matches!(refusal(&other), BundleError::Digest { what: "content", .. }));
        reseal(&mut other);
        assert_eq!(read(&other).unwrap().to_bytes()[..], other[..]);
    }
}

#[test]
fn hostile_counts_and_lengths_are_refused_without_allocating_for_them() {
    for bytes in bundles(Gate::interval_powers(64, 3).unwrap(), 1) {
        hostile_counts_are_refused(&bytes);
    }
    // words alone, which the seed expands
    for bytes in bundles(Gate::low_predicates(12, 3).unwrap().with_masks(30).unwrap(), 1) {
        hostile_counts_are_refused(&bytes);
    }
}

/// The bundle is of one element.
fn hostile_counts_are_refused(bytes: &[u8]) {
    let mut rng = fastrand::Rng::with_seed(1);
    for round in 0..1000u32 {
        let huge = match round % 4 {
            0 => u64::MAX - u64::from(round),
            1 => 1 << (round / 4 % 64),
            2 => (1 << (round / 4 % 63)) - 1 + (1 << 40),
            _ => rng.u64(..),
        };
        let mut hostile = bytes.to_vec();
        for at in [24, 32, 40] {
            if at == 24 || rng.bool() {
                hostile[at..at + 8].copy_from_slice(&huge.to_le_bytes());
            }
        }
        reseal(&mut hostile);
        let accepted = read(&hostile).is_ok();
        assert!(!accepted || (1..=32).contains(&huge), "{huge:#x}"); // these fill the same rows
        // a header alone is no better
        assert!(read(&hostile[..128]).is_err());
    }
    let overflow = |count: u64| {
        let mut hostile = bytes.to_vec();
        hostile[24..32].copy_from_slice(&count.to_le_bytes());
        reseal(&mut hostile);
        refusal(&hostile)
    };
    for count in [u64::MAX, u64::MAX - 30, 1 << 63, 1 << 32, (1 << 32) - 1] {
        assert_eq!(overflow(count), BundleError::Overflow { count });
    }
}

#[test]
fn neither_debug_nor_errors_show_key_material() {
    let q = runtime::cpu().unwrap();
    for bundle in Dealer::insecure_from_seed(42).deal(&q, &Gate::relu(64).unwrap(), 2).unwrap() {
        let shown = format!("{bundle:?}");
        assert!(shown.len() < 400 && shown.contains("Relu"), "{shown}");
        assert!(!["roots", "seed"].iter().any(|secret| shown.contains(secret)), "{shown}");
    }
    assert_eq!(format!("{:?}", Dealer::insecure_from_seed(1)), "Dealer(..)");
}
