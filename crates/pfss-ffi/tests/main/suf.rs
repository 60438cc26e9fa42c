//! SUF's calls with one key for each input: every input of small rings, and refusals.

use core::ptr::{null, null_mut};

use trefoil_pfss::{
    Backend, Bytes, Status, SufKeys, trefoil_pfss_suf_eval_dcf_many, trefoil_pfss_suf_eval_interval_lut_many,
    trefoil_pfss_suf_eval_packed_lt_many, trefoil_pfss_suf_gen_dcf, trefoil_pfss_suf_gen_interval_lut,
    trefoil_pfss_suf_gen_packed_lt, trefoil_pfss_suf_keys_free, trefoil_pfss_suf_keys_mask_inputs,
    trefoil_pfss_suf_keys_read,
};

use crate::{
    misuse::refused,
    setup::{ARGUMENT, BUNDLE, LENGTH, OK, PROGRAM, STATE, Setup, owned},
};

const BROADCAST: &str = "one mask for many values reveals their differences";

impl Setup {
    /// Both parties' keys, made by a `gen` call, and read.
    fn keys(&self, make: impl FnOnce(&Self, [*mut *mut Bytes; 2]) -> Status) -> [*mut SufKeys; 2] {
        let mut bytes = [null_mut(); 2];
        let [zero, one] = &mut bytes;
        assert_eq!(make(self, [zero, one]), OK);
        bytes.map(owned).map(|bytes| {
            let mut keys = null_mut();
            // SAFETY: an array of the given length, and a place for a handle.
            assert_eq!(unsafe { trefoil_pfss_suf_keys_read(bytes.as_ptr(), bytes.len(), &mut keys) }, OK);
            keys
        })
    }

    pub(crate) fn packed_lt(&self, in_bits: u32, thresholds: &[u64], count: usize) -> [*mut SufKeys; 2] {
        // SAFETY: live handles, an array of the given length, and places for handles.
        self.keys(|setup, [zero, one]| unsafe {
            let (data, len) = (thresholds.as_ptr(), thresholds.len());
            trefoil_pfss_suf_gen_packed_lt(setup.dealer, setup.backend, in_bits, data, len, count, zero, one)
        })
    }

    pub(crate) fn dcf(&self, in_bits: u32, alpha: u64, payload: &[u8], count: usize) -> [*mut SufKeys; 2] {
        // SAFETY: live handles, an array of the given length, and places for handles.
        self.keys(|setup, [zero, one]| unsafe {
            let (data, len) = (payload.as_ptr(), payload.len());
            trefoil_pfss_suf_gen_dcf(setup.dealer, setup.backend, in_bits, alpha, data, len, count, zero, one)
        })
    }

    pub(crate) fn interval_lut(
        &self,
        in_bits: u32,
        cutpoints: &[u64],
        payload: &[u64],
        count: usize,
    ) -> [*mut SufKeys; 2] {
        // SAFETY: live handles, arrays of the given lengths, and places for handles.
        self.keys(|setup, [zero, one]| unsafe {
            trefoil_pfss_suf_gen_interval_lut(
                setup.dealer,
                setup.backend,
                in_bits,
                payload.len() / (cutpoints.len() - 1),
                cutpoints.as_ptr(),
                cutpoints.len(),
                payload.as_ptr(),
                payload.len(),
                count,
                zero,
                one,
            )
        })
    }
}

/// The opened masked inputs of both parties, modulo `2^bits`.
fn opened(keys: [*mut SufKeys; 2], x: &[u64], bits: u32) -> Vec<u64> {
    let mask = u64::MAX >> (64 - bits);
    let share = |at: usize| (at as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut sums = vec![0u64; x.len()];
    for (party, keys) in keys.into_iter().enumerate() {
        let of = |(at, x): (usize, &u64)| if party == 0 { share(at) } else { x.wrapping_sub(share(at)) };
        let shares: Vec<u64> = x.iter().enumerate().map(of).collect();
        let mut masked = vec![0; x.len()];
        // SAFETY: a live handle, and arrays of the given lengths.
        let status = unsafe { trefoil_pfss_suf_keys_mask_inputs(keys, shares.as_ptr(), x.len(), masked.as_mut_ptr()) };
        assert_eq!(status, OK);
        sums.iter_mut().zip(masked).for_each(|(sum, word)| *sum = sum.wrapping_add(word) & mask);
    }
    sums
}

/// An `eval` call of C.
type Eval<T> = unsafe extern "C" fn(*mut Backend, *mut SufKeys, *const u64, usize, *mut T, usize) -> Status;

/// Both parties' results of an `eval` call; frees the keys.
fn results<T: Copy + Default>(
    setup: &Setup,
    eval: Eval<T>,
    keys: [*mut SufKeys; 2],
    hatx: &[u64],
    len: usize,
) -> [Vec<T>; 2] {
    keys.map(|keys| {
        let mut outs = vec![T::default(); len];
        // SAFETY: live handles, arrays of the given lengths; the keys are freed once.
        unsafe {
            assert_eq!(eval(setup.backend, keys, hatx.as_ptr(), hatx.len(), outs.as_mut_ptr(), len), OK);
            trefoil_pfss_suf_keys_free(keys);
        }
        outs
    })
}

#[test]
fn packed_comparisons_and_dcfs_are_right_for_every_input() {
    let setup = Setup::new();
    for in_bits in [1, 5, 6] {
        let all: Vec<u64> = (0..1 << in_bits).collect();
        // Every threshold, and more of them than a word has bits.
        let thresholds: Vec<u64> = all.iter().cycle().take(70).copied().collect();
        let keys = setup.packed_lt(in_bits, &thresholds, all.len());
        let hatx = opened(keys, &all, in_bits);
        let [a, b] = results(&setup, trefoil_pfss_suf_eval_packed_lt_many, keys, &hatx, 2 * all.len());
        for (e, &x) in all.iter().enumerate() {
            for (t, &threshold) in thresholds.iter().enumerate() {
                let at = 2 * e + t / 64;
                assert_eq!(((a[at] ^ b[at]) >> (t % 64)) & 1, u64::from(x < threshold), "{x} < {threshold}");
            }
            assert_eq!((a[2 * e + 1] ^ b[2 * e + 1]) >> 6, 0, "bits without a threshold");
        }
        let payload = [0x5a, 0xff, 0];
        for &alpha in &all {
            let keys = setup.dcf(in_bits, alpha, &payload, all.len());
            let hatx = opened(keys, &all, in_bits);
            let [a, b] = results(&setup, trefoil_pfss_suf_eval_dcf_many, keys, &hatx, 3 * all.len());
            let got: Vec<u8> = a.iter().zip(&b).map(|(a, b)| a ^ b).collect();
            let expected = all.iter().flat_map(|&x| payload.map(|byte| if x < alpha { byte } else { 0 }));
            assert_eq!(got, expected.collect::<Vec<u8>>(), "{alpha}");
        }
    }
}

#[test]
fn interval_lookups_are_right_for_every_input_and_at_the_ends_of_64_bits() {
    let setup = Setup::new();
    let last = u64::MAX;
    let every: Vec<u64> = (0..32).collect();
    let words = [7, last, 1 << 63, 0, 5, 12_345];
    for (in_bits, cutpoints, words, inputs) in [
        (5, vec![0, 1, 20, 32], &words[..], every.clone()),
        (5, vec![0, 32], &words[..2], every),
        (63, vec![0, 1 << 62, 1 << 63], &words[..4], vec![0, (1 << 62) - 1, 1 << 62, (1 << 63) - 1]),
        (64, vec![0, 5, 1 << 63, 0], &words[..3], vec![0, 4, 5, (1 << 63) - 1, 1 << 63, last]),
    ] {
        let intervals = cutpoints.len() - 1;
        let each = words.len() / intervals;
        let keys = setup.interval_lut(in_bits, &cutpoints, words, inputs.len());
        let hatx = opened(keys, &inputs, 64);
        let len = each * inputs.len();
        let [a, b] = results(&setup, trefoil_pfss_suf_eval_interval_lut_many, keys, &hatx, len);
        let got: Vec<u64> = a.iter().zip(&b).map(|(a, b)| a.wrapping_add(*b)).collect();
        let interval = |x: u64| cutpoints[..intervals].iter().filter(|&&start| start <= x).count() - 1;
        let expected = inputs.iter().flat_map(|&x| words[each * interval(x)..][..each].to_vec());
        assert_eq!(got, expected.collect::<Vec<u64>>(), "{in_bits} bits, {cutpoints:?}");
    }
}

#[test]
fn one_key_for_many_inputs_is_refused_with_the_reason() {
    let setup = Setup::new();
    let (many, mut words, mut bytes) = ([1u64; 3], [0u64; 3], [0u8; 3]);
    let (data, len) = (many.as_ptr(), many.len());
    let lut = setup.interval_lut(4, &[0, 16], &[9], 1);
    let all = [setup.packed_lt(4, &[3], 1), setup.dcf(4, 3, &[1], 1), lut];
    // SAFETY: live handles, freed once, and arrays of the given lengths.
    unsafe {
        for [zero, one] in all {
            let masked = trefoil_pfss_suf_keys_mask_inputs(zero, data, len, words.as_mut_ptr());
            refused(masked, ARGUMENT, BROADCAST);
            let backend = setup.backend;
            let packed = trefoil_pfss_suf_eval_packed_lt_many(backend, zero, data, len, words.as_mut_ptr(), 3);
            refused(packed, ARGUMENT, BROADCAST);
            let dcf = trefoil_pfss_suf_eval_dcf_many(backend, zero, data, len, bytes.as_mut_ptr(), 3);
            refused(dcf, ARGUMENT, BROADCAST);
            let lut = trefoil_pfss_suf_eval_interval_lut_many(backend, zero, data, len, words.as_mut_ptr(), 3);
            refused(lut, ARGUMENT, "expected 1 inputs for 1 keys, got 3: one mask for many values reveals");
            [zero, one].into_iter().for_each(|keys| trefoil_pfss_suf_keys_free(keys));
        }
    }
}

#[test]
fn calls_of_suf_refuse_by_name_what_they_are_not_made_for() {
    let setup = Setup::new();
    let (backend, dealer) = (setup.backend, setup.dealer);
    let [mut zero, mut one] = [null_mut(); 2];
    let (x, mut words, mut bytes) = ([1u64, 2], [0u64; 2], [0u8; 2]);
    let [keys, other] = setup.packed_lt(4, &[3, 4], 2);
    let mut none = null_mut();
    // SAFETY: null, live handles, and arrays of the given lengths.
    unsafe {
        for (in_bits, alpha, payload, text) in [
            (0, 0, &[1u8][..], "got 0"),
            (65, 0, &[1], "got 65"),
            (4, 16, &[1], "constant 0x10 of item 0 is outside a ring of 4 bits"),
            (4, 3, &[], "expected at least one threshold or byte of a payload, got none"),
        ] {
            let (data, len) = (payload.as_ptr(), payload.len());
            let refusal = trefoil_pfss_suf_gen_dcf(dealer, backend, in_bits, alpha, data, len, 1, &mut zero, &mut one);
            refused(refusal, ARGUMENT, text);
        }
        let refusal = trefoil_pfss_suf_gen_packed_lt(dealer, backend, 4, null(), 0, 1, &mut zero, &mut one);
        refused(refusal, ARGUMENT, "expected at least one threshold");
        for (in_bits, words, cutpoints, payload, status, text) in [
            (0, 1, &[0u64, 1][..], &[7u64][..], ARGUMENT, "expected an input of 1 to 64 bits, got 0"),
            (4, 1, &[16], &[7], ARGUMENT, "expected at least 2 cut points, got 1"),
            (4, 1, &[0, 15], &[7], ARGUMENT, "expected cut points that end with 16, got 0 and 15"),
            (4, 1, &[0, 17, 16], &[7, 8], ARGUMENT, "expected cut points that end with 16, got 17 and 16"),
            (4, 0, &[0, 16], &[], ARGUMENT, "expected at least one word"),
            (4, 1, &[0, 5, 16], &[7], LENGTH, "expected 2 words of intervals, got 1"),
            (4, 1, &[1, 16], &[7], PROGRAM, ""),
            (4, 1, &[0, 5, 5, 16], &[7, 8, 9], PROGRAM, ""),
            (4, 17, &[0, 16], &[7; 17], PROGRAM, "word ports"),
        ] {
            let (cuts, len) = (cutpoints.as_ptr(), cutpoints.len());
            let (data, places) = (payload.as_ptr(), [&raw mut zero, &raw mut one]);
            let [zero, one] = places;
            let refusal = trefoil_pfss_suf_gen_interval_lut(
                dealer,
                backend,
                in_bits,
                words,
                cuts,
                len,
                data,
                payload.len(),
                1,
                zero,
                one,
            );
            refused(refusal, status, text);
        }
        assert!(zero.is_null() && one.is_null());
        let foreign = trefoil_pfss_suf_keys_read([0u8; 9].as_ptr(), 9, &mut none);
        refused(foreign, BUNDLE, "expected keys of a plan or of SUF's calls, got 9 bytes");

        // Nothing of this spends the keys.
        let dcf = trefoil_pfss_suf_eval_dcf_many(backend, keys, x.as_ptr(), 2, bytes.as_mut_ptr(), 2);
        refused(dcf, PROGRAM, "expected keys of a DCF, got keys of packed comparisons");
        let short = trefoil_pfss_suf_eval_packed_lt_many(backend, keys, x.as_ptr(), 1, words.as_mut_ptr(), 1);
        refused(short, LENGTH, "expected 2 inputs, one for each key, got 1");
        let long = trefoil_pfss_suf_eval_packed_lt_many(backend, keys, x.as_ptr(), 2, words.as_mut_ptr(), 3);
        refused(long, LENGTH, "expected 2 words of bit masks, got 3");
        let nowhere = trefoil_pfss_suf_eval_packed_lt_many(backend, keys, x.as_ptr(), 2, null_mut(), 2);
        refused(nowhere, ARGUMENT, "outs is a null");
        assert_eq!(trefoil_pfss_suf_keys_mask_inputs(keys, x.as_ptr(), 2, words.as_mut_ptr()), OK);
        let again = trefoil_pfss_suf_keys_mask_inputs(keys, x.as_ptr(), 2, words.as_mut_ptr());
        refused(again, STATE, "already masked inputs");
        let mut eval = || trefoil_pfss_suf_eval_packed_lt_many(backend, keys, x.as_ptr(), 2, words.as_mut_ptr(), 2);
        assert_eq!(eval(), OK);
        refused(eval(), STATE, "evaluated before");
        [keys, other].into_iter().for_each(|keys| trefoil_pfss_suf_keys_free(keys));
    }
}
