//! The functions of SUF's bridge to SIGMA: against their definitions, and what they refuse.

use core::{
    ffi::{c_int, c_void},
    ptr::{null, null_mut},
    slice,
};
use std::{
    fs,
    path::Path,
    sync::mpsc::{Receiver, Sender, channel},
    time::Duration,
};

use pfss::Ring;
use trefoil_pfss::{
    Backend, SigmaContext, SigmaPeer, SigmaStats, Status, suf_layernorm_enabled, suf_sigma_clear,
    suf_sigma_consume_key, suf_sigma_eval_activation, suf_sigma_keygen_activation, suf_sigma_keygen_inverse,
    suf_sigma_reset_eval, suf_sigma_reset_keygen, suf_sigma_set_keybuf_ptr, suf_softmax_enabled,
    trefoil_pfss_backend_free, trefoil_pfss_backend_open, trefoil_pfss_sigma_clear, trefoil_pfss_sigma_consume_key,
    trefoil_pfss_sigma_enable, trefoil_pfss_sigma_eval_activation, trefoil_pfss_sigma_eval_inverse,
    trefoil_pfss_sigma_eval_nexp, trefoil_pfss_sigma_eval_rsqrt, trefoil_pfss_sigma_free,
    trefoil_pfss_sigma_keygen_activation, trefoil_pfss_sigma_keygen_inverse, trefoil_pfss_sigma_keygen_nexp,
    trefoil_pfss_sigma_keygen_rsqrt, trefoil_pfss_sigma_open, trefoil_pfss_sigma_open_global,
    trefoil_pfss_sigma_reset_eval, trefoil_pfss_sigma_reset_keygen, trefoil_pfss_sigma_set_keybuf_ptr,
};

use crate::{
    misuse::refused,
    setup::{ARGUMENT, BUNDLE, LENGTH, OK, STATE},
};

const SCALE: c_int = 12;
const CAPACITY: usize = 1 << 22;

/// The functions with a header of their own, as the crate exports them.
pub(crate) fn sigma_functions() -> Vec<String> {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs")).unwrap();
    let code = text.lines().filter(|line| !line.starts_with("//"));
    let words = code.flat_map(|line| line.split(|at: char| !at.is_ascii_alphanumeric() && at != '_'));
    let is_function = |word: &&str| word.starts_with("suf_") || word.starts_with("trefoil_pfss_sigma_");
    words.filter(is_function).map(str::to_owned).collect()
}

#[test]
fn the_header_declares_every_function_and_no_other() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("include/trefoil_sigma.h");
    let header = fs::read_to_string(path).unwrap();
    let start = ["trefoil_pfss_status ", "void ", "bool "];
    let is_call = |line: &&str| start.iter().any(|start| line.starts_with(start));
    let declared = header.lines().filter(is_call).filter_map(|line| line.split_once('(')?.0.rsplit_once(' '));
    let mut declared: Vec<String> = declared.map(|(_, name)| name.to_owned()).collect();
    let mut defined = sigma_functions();
    declared.sort_unstable();
    defined.sort_unstable();
    // SUF's fifteen, the same for a context and one for its stream, and three for the process's context
    assert_eq!((defined.len(), &declared), (34, &defined));
}

/// One end of a connection in memory.
pub(crate) struct Pipe {
    to: Sender<Vec<u8>>,
    from: Receiver<Vec<u8>>,
}

pub(crate) fn links() -> [Pipe; 2] {
    let ((to_one, from_zero), (to_zero, from_one)) = (channel(), channel());
    [Pipe { to: to_one, from: from_one }, Pipe { to: to_zero, from: from_zero }]
}

/// The callback of a [`Pipe`]; 1 if the other party is gone.
///
/// # Safety
/// `ctx` is a live [`Pipe`], and the arrays have the given lengths.
unsafe extern "C" fn exchange(
    ctx: *mut c_void,
    sent: *const u8,
    sent_len: usize,
    received: *mut u8,
    received_len: usize,
) -> c_int {
    // SAFETY: the link of the peer, which outlives it, and arrays with their lengths.
    let (link, out, into) = unsafe {
        (&*ctx.cast::<Pipe>(), slice::from_raw_parts(sent, sent_len), slice::from_raw_parts_mut(received, received_len))
    };
    let answer = link.to.send(out.to_vec()).ok().and_then(|()| link.from.recv_timeout(Duration::from_secs(60)).ok());
    match answer {
        Some(answer) if answer.len() == received_len => {
            into.copy_from_slice(&answer);
            0
        }
        _ => 1,
    }
}

pub(crate) fn peer(link: &Pipe) -> SigmaPeer {
    SigmaPeer { ctx: (&raw const *link).cast_mut().cast(), exchange: Some(exchange) }
}

/// A function with its parameters.
#[derive(Clone, Copy, Debug)]
enum Call {
    Activation(bool),
    NegExp,
    Inverse(c_int),
    Rsqrt(c_int),
}

impl Call {
    /// # Safety
    /// A live context with a buffer.
    unsafe fn keygen(self, context: *mut SigmaContext, party: c_int, bw: c_int, masks: &[u64]) -> (Status, Vec<u64>) {
        let (input, n, mut masks_out) = (masks.as_ptr(), masks.len(), vec![0; masks.len()]);
        let output = masks_out.as_mut_ptr();
        // SAFETY: a live context by the caller's promise, and arrays of `n` words.
        let status = unsafe {
            match self {
                Self::Activation(silu) => {
                    trefoil_pfss_sigma_keygen_activation(context, party, bw, SCALE, silu, input, n, output)
                }
                Self::NegExp => trefoil_pfss_sigma_keygen_nexp(context, party, bw, SCALE, input, n, output),
                Self::Inverse(max) => {
                    trefoil_pfss_sigma_keygen_inverse(context, party, bw, SCALE, max, input, n, output)
                }
                Self::Rsqrt(divisor) => {
                    trefoil_pfss_sigma_keygen_rsqrt(context, party, bw, SCALE, divisor, input, n, output)
                }
            }
        };
        (status, masks_out)
    }

    /// # Safety
    /// A live context with a buffer, and a peer whose function may be called.
    unsafe fn eval(
        self,
        context: *mut SigmaContext,
        peer: *const SigmaPeer,
        (party, bw): (c_int, c_int),
        x_hat: &[u64],
        stats: *mut SigmaStats,
    ) -> (Status, Vec<u64>) {
        let (input, n, mut y_hat) = (x_hat.as_ptr(), x_hat.len(), vec![0; x_hat.len()]);
        let out = y_hat.as_mut_ptr();
        // SAFETY: a live context and a peer by the caller's promise, and arrays of `n` words.
        let status = unsafe {
            match self {
                Self::Activation(silu) => {
                    trefoil_pfss_sigma_eval_activation(context, peer, party, bw, SCALE, silu, input, n, out, stats)
                }
                Self::NegExp => trefoil_pfss_sigma_eval_nexp(context, peer, party, bw, SCALE, input, n, out, stats),
                Self::Inverse(max) => {
                    trefoil_pfss_sigma_eval_inverse(context, peer, party, bw, SCALE, max, input, n, out, stats)
                }
                Self::Rsqrt(divisor) => {
                    trefoil_pfss_sigma_eval_rsqrt(context, peer, party, bw, SCALE, divisor, input, n, out, stats)
                }
            }
        };
        (status, y_hat)
    }

    /// The function, and the greatest error in units of the last place.
    fn plain(self, x: f64) -> (f64, f64) {
        match self {
            Self::Activation(false) => (x / 2.0 * (1.0 + erf(x / 2f64.sqrt())), 0.62),
            Self::Activation(true) => (x / (1.0 + (-x).exp()), 0.83),
            Self::NegExp => ((-x).exp(), 1.33),
            Self::Inverse(_) => (1.0 / x, 0.55),
            Self::Rsqrt(divisor) if divisor < 32 => ((f64::from(divisor) / x).sqrt(), 1.2),
            Self::Rsqrt(divisor) => ((f64::from(divisor) / x).sqrt(), 1.6),
        }
    }

    /// The least and the greatest input in a ring of `bw` bits, as fixed-point integers.
    fn range(self, bw: c_int) -> (i64, i64) {
        let one = 1i64 << SCALE;
        match self {
            Self::Activation(_) => (-(one << 12), (one << 12) - 1),
            Self::NegExp if bw == 64 => (0, i64::MAX),
            Self::NegExp => (0, (1 << (bw - 2)) - 1),
            Self::Inverse(max) => (one, i64::from(max) * one),
            Self::Rsqrt(divisor) => (i64::from(divisor) * one / 16, i64::from(divisor) * one * 256),
        }
    }

    /// Both ends, inputs near zero, and others at every size.
    fn inputs(self, bw: c_int) -> Vec<i64> {
        let (min, max) = self.range(bw);
        let mut state = 0x9e37_79b9_7f4a_7c15u64;
        let random = (0..200u32).map(|i| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> (i % 62 + 1)).cast_signed()
        });
        let fixed = [min, min + 1, max - 1, max, -16_384, -4097, -4096, -1, 0, 1, 4095, 4096, 16_383, 65_535, 65_536];
        let random: Vec<i64> = random.flat_map(|x| [x, -x]).collect();
        fixed.into_iter().chain(random).filter(|x| (min..=max).contains(x)).collect()
    }
}

/// The error function, by its series and its continued fraction (Abramowitz and Stegun, 7.1.6 and 7.1.14).
fn erf(z: f64) -> f64 {
    let front = (-z * z).exp() / core::f64::consts::PI.sqrt();
    if z.abs() < 2.5 {
        let term = |(term, odd): (f64, f64)| (term * 2.0 * z * z / (odd + 2.0), odd + 2.0);
        let terms = std::iter::successors(Some((z, 1.0)), |&last| Some(term(last))).take(100);
        return 2.0 * front * terms.map(|(term, _)| term).sum::<f64>();
    }
    let fraction = (1..200).rev().fold(z.abs(), |below, k| z.abs() + f64::from(k) / 2.0 / below);
    (1.0 - front / fraction) * z.signum()
}

/// Uniform-looking masks.
fn masks(ring: Ring, n: usize) -> Vec<u64> {
    (1..=n as u64).map(|e| ring.reduce(e.wrapping_mul(0xd134_2543_de82_ef95))).collect()
}

fn open(seed: Option<&[u8; 32]>) -> (*mut Backend, *mut SigmaContext) {
    let (mut backend, mut context) = (null_mut(), null_mut());
    let (seed, len) = seed.map_or((null(), 0), |seed| (seed.as_ptr(), seed.len()));
    // SAFETY: places for handles, a string, and a seed with its length.
    unsafe {
        assert_eq!(trefoil_pfss_backend_open(c"cpu".as_ptr(), &mut backend), OK);
        assert_eq!(trefoil_pfss_sigma_open(backend, seed, len, &mut context), OK);
    }
    (backend, context)
}

/// # Safety
/// Live handles, which are not used again.
unsafe fn close((backend, context): (*mut Backend, *mut SigmaContext)) {
    // SAFETY: the caller's promise.
    unsafe {
        trefoil_pfss_sigma_free(context);
        trefoil_pfss_backend_free(backend);
    }
}

/// Both parties' keys for the calls in a row, and the masks of their outputs.
fn deal(calls: &[Call], bw: c_int, inputs: &[Vec<u64>]) -> ([Vec<u8>; 2], Vec<Vec<u64>>) {
    let (backend, dealer) = open(None);
    let mut outputs = [Vec::new(), Vec::new()];
    let keys = [0, 1].map(|party: usize| {
        let mut keys = vec![0; CAPACITY];
        let mut cursor = keys.as_mut_ptr();
        // SAFETY: a live context, and a buffer that outlives its use.
        unsafe {
            assert_eq!(trefoil_pfss_sigma_set_keybuf_ptr(dealer, &mut cursor, CAPACITY), OK);
            assert_eq!(trefoil_pfss_sigma_reset_keygen(dealer), OK);
            for (call, masks) in calls.iter().zip(inputs) {
                let (status, output) = call.keygen(dealer, party as c_int, bw, masks);
                assert_eq!(status, OK, "{call:?}");
                outputs[party].push(output);
            }
        }
        keys
    });
    // SAFETY: live handles. The buffers are gone, so the context is freed and not cleared.
    unsafe { close((backend, dealer)) };
    let [zero, one] = outputs;
    assert_eq!(zero, one, "both halves of a deal have the same output masks");
    (keys, zero)
}

#[test]
fn outputs_are_the_functions_within_their_bounds_under_the_masks_of_the_dealer() {
    let calls = [
        Call::Activation(false),
        Call::Activation(true),
        Call::NegExp,
        Call::Inverse(128),
        Call::Inverse(1000),
        Call::Rsqrt(1),
        Call::Rsqrt(768),
    ];
    for bw in [64i32, 50, 37] {
        let ring = Ring::new(bw.cast_unsigned()).unwrap();
        let inputs = calls.map(|call| call.inputs(bw));
        let input_masks: Vec<Vec<u64>> = inputs.iter().map(|inputs| masks(ring, inputs.len())).collect();
        let (keys, output_masks) = deal(&calls, bw, &input_masks);
        let x_hat: Vec<Vec<u64>> = inputs
            .iter()
            .zip(&input_masks)
            .map(|(x, r)| x.iter().zip(r).map(|(&x, &r)| ring.add(x.cast_unsigned(), r)).collect())
            .collect();
        let play = |party: usize, link: Pipe, mut keys: Vec<u8>| {
            let (handles, mut cursor) = (open(None), keys.as_mut_ptr());
            let mut stats = SigmaStats { sent_bytes: 0, received_bytes: 0, rounds: 0 };
            // SAFETY: live handles, a buffer and a link that outlive their use.
            let opened: Vec<Vec<u64>> = unsafe {
                assert_eq!(trefoil_pfss_sigma_set_keybuf_ptr(handles.1, &mut cursor, keys.len()), OK);
                let evaluated = calls.iter().zip(&x_hat).map(|(call, x_hat)| {
                    let who = (party as c_int, bw);
                    let (status, y_hat) = call.eval(handles.1, &peer(&link), who, x_hat, &mut stats);
                    assert_eq!(status, OK, "{call:?} in {bw} bits");
                    y_hat
                });
                let opened = evaluated.collect();
                close(handles);
                opened
            };
            // read keys are wiped
            assert!(keys.iter().all(|&byte| byte == 0));
            assert!(stats.sent_bytes > 0 && stats.sent_bytes == stats.received_bytes);
            // four rounds from wire to wire, and two more to take the wire into 64 bits
            let lifted = if bw == 64 { 1 } else { calls.len() as u64 }; // rsqrt of 768 drops bits in every ring
            assert_eq!(stats.rounds, 4 * calls.len() as u64 + 2 * lifted);
            opened
        };
        let ([first, second], [zero, one]) = (links(), keys);
        let [a, b] = test_process::scope(|scope| {
            let other = scope.spawn(|| play(1, second, one));
            [play(0, first, zero), other.join().unwrap()]
        });
        assert_eq!(a, b, "the outputs are open");
        for ((call, inputs), (y_hat, r)) in calls.iter().zip(&inputs).zip(a.iter().zip(&output_masks)) {
            for ((&x, &y_hat), &r) in inputs.iter().zip(y_hat).zip(r) {
                let (exact, bound) = call.plain(x as f64 / f64::from(1u32 << SCALE));
                let (got, exact) = (ring.signed(ring.sub(y_hat, r)) as f64, exact * f64::from(1u32 << SCALE));
                assert!((got - exact).abs() <= bound, "{call:?} of {x} in {bw} bits: {got} for {exact}");
            }
        }
    }
}

/// Evaluates a call as party 0, without a party 1.
///
/// # Safety
/// A live context.
unsafe fn alone(context: *mut SigmaContext, call: Call, bw: c_int, x_hat: &[u64]) -> Status {
    let [link, _] = links();
    // SAFETY: a live context by the caller's promise, and a link that outlives the peer.
    unsafe { call.eval(context, &peer(&link), (0, bw), x_hat, null_mut()).0 }
}

#[test]
fn keys_are_evaluated_once_in_their_order_and_by_their_call() {
    let (gelu, x_hat) = (Call::Activation(false), [1u64, 2, 3]);
    let ([zero, _], _) = deal(&[gelu, Call::NegExp], 50, &[vec![4, 5, 6], vec![7, 8, 9]]);
    let handles = open(None);
    let context = handles.1;
    let mut keys = zero.clone();
    let mut cursor = keys.as_mut_ptr();
    let cursor = &raw mut cursor;
    // SAFETY: live handles, and a buffer that outlives its use.
    unsafe {
        refused(alone(context, gelu, 50, &x_hat), STATE, "no buffer of keys is set");
        refused(trefoil_pfss_sigma_consume_key(context), STATE, "no buffer of keys is set");
        assert_eq!(trefoil_pfss_sigma_set_keybuf_ptr(context, cursor, keys.len()), OK);
        // other calls leave the keys in their place
        refused(alone(context, Call::NegExp, 50, &x_hat), STATE, "expected a call of the next keys, gelu");
        refused(alone(context, gelu, 51, &x_hat), STATE, "got gelu (bw = 51, scale = 12) of 3 elements for party 0");
        refused(alone(context, gelu, 50, &x_hat[..2]), STATE, "got gelu (bw = 50, scale = 12) of 2 elements");
        assert_eq!((*cursor, keys == zero), (keys.as_mut_ptr(), true));
        // the other party is gone: the keys are spent all the same
        let status = alone(context, gelu, 50, &x_hat);
        refused(status, Status::TREFOIL_PFSS_PEER, "the peer's function returned 1");
        refused(alone(context, gelu, 50, &x_hat), STATE, "expected a call of the next keys, nexp");

        // a copy of the same bytes is refused before anything is sent
        let mut copy = zero.clone();
        *cursor = copy.as_mut_ptr();
        assert_eq!(trefoil_pfss_sigma_reset_eval(context), OK);
        assert_eq!(trefoil_pfss_sigma_set_keybuf_ptr(context, cursor, copy.len()), OK);
        refused(alone(context, gelu, 50, &x_hat), STATE, "bundle reused");
        // keys that are dropped are not evaluated, and those after them are no record of this call
        assert_eq!(trefoil_pfss_sigma_consume_key(context), OK);
        assert_eq!(trefoil_pfss_sigma_reset_eval(context), OK);
        refused(trefoil_pfss_sigma_consume_key(context), BUNDLE, "expected keys at the cursor");
        refused(alone(context, Call::NegExp, 50, &x_hat), BUNDLE, "expected keys at the cursor");

        // the cursor has to stay within the buffer, and a record too
        *cursor = copy.as_mut_ptr().wrapping_add(copy.len() + 1);
        refused(trefoil_pfss_sigma_consume_key(context), STATE, "the cursor is outside the buffer");
        let mut cut = zero.clone();
        *cursor = cut.as_mut_ptr();
        assert_eq!(trefoil_pfss_sigma_set_keybuf_ptr(context, cursor, 500), OK);
        refused(trefoil_pfss_sigma_consume_key(context), LENGTH, "the buffer has 500 left");
        assert_eq!(trefoil_pfss_sigma_set_keybuf_ptr(context, cursor, 71), OK);
        refused(trefoil_pfss_sigma_consume_key(context), LENGTH, "expected 72 bytes of keys");
        assert_eq!((*cursor, cut == zero), (cut.as_mut_ptr(), true), "refused records stay as they are");
        close(handles);
    }
}

#[test]
fn malformed_records_are_refused_and_left_in_the_buffer() {
    let ([zero, _], _) = deal(&[Call::Inverse(4)], 40, &[vec![4, 5, 6]]);
    let (len, handles) = (u64::from_le_bytes(zero[8..16].try_into().unwrap()), open(None));
    // the offset of a number, the number there, and the reason
    let changes = [
        (0, 7, "expected keys at the cursor"),
        (8, 71, "expected a record of at least 72 bytes"),
        (8, len - 1, "the record ends within its keys"),
        (8, len + 1, "1 bytes follow the last keys"),
        (16, 5, "a function that this version does not have"),
        (40, 1 << 32, "a function that this version does not have"),
        (48, 2, "expected keys of party 0 or 1"),
        (64, 4, "expected at most 3 bundles"),
        (64, 2, "bytes follow the last keys"),
        (72, u64::MAX, "the record ends within its keys"),
        (200, u64::MAX, ""),
    ];
    for (at, number, reason) in changes {
        let mut keys = zero.clone();
        keys[at..at + 8].copy_from_slice(&number.to_le_bytes());
        let (before, mut cursor) = (keys.clone(), keys.as_mut_ptr());
        // SAFETY: live handles, and a buffer that outlives its use.
        unsafe {
            assert_eq!(trefoil_pfss_sigma_set_keybuf_ptr(handles.1, &mut cursor, keys.len()), OK);
            refused(trefoil_pfss_sigma_consume_key(handles.1), BUNDLE, reason);
        }
        assert!(keys == before && cursor == keys.as_mut_ptr(), "{at}");
    }
    // a count that its bundles do not have is found when they are evaluated
    let mut keys = zero.clone();
    keys[56..64].copy_from_slice(&2u64.to_le_bytes());
    let mut cursor = keys.as_mut_ptr();
    // SAFETY: live handles, and a buffer that outlives its use.
    unsafe {
        assert_eq!(trefoil_pfss_sigma_set_keybuf_ptr(handles.1, &mut cursor, keys.len()), OK);
        refused(alone(handles.1, Call::Inverse(4), 40, &[1, 2]), LENGTH, "expected 3 elements, got 2");
        close(handles);
    }
}

#[test]
fn calls_that_cannot_be_answered_write_nothing() {
    let handles = open(Some(&[3; 32]));
    let (context, gelu) = (handles.1, Call::Activation(false));
    let (masks, mut output) = ([5u64, 6, 7], [9u64; 3]);
    let mut keys = vec![1u8; CAPACITY];
    let mut cursor = keys.as_mut_ptr();
    // SAFETY: every pointer is null, or points at an array of the given length; handles are live.
    unsafe {
        refused(gelu.keygen(context, 0, 50, &masks).0, STATE, "no buffer of keys is set");
        let nowhere = trefoil_pfss_sigma_set_keybuf_ptr(context, null_mut(), 8);
        refused(nowhere, ARGUMENT, "the place of the cursor is a null pointer");
        let mut none = null_mut();
        refused(trefoil_pfss_sigma_set_keybuf_ptr(context, &mut none, 8), ARGUMENT, "the cursor is a null pointer");
        assert_eq!(trefoil_pfss_sigma_set_keybuf_ptr(context, &mut cursor, 1000), OK);
        refused(gelu.keygen(context, 0, 50, &masks).0, LENGTH, "the buffer has 1000 left");
        assert!(keys.iter().all(|&byte| byte == 1) && cursor == keys.as_mut_ptr());

        assert_eq!(trefoil_pfss_sigma_set_keybuf_ptr(context, &mut cursor, CAPACITY), OK);
        for (call, party, bw, reason) in [
            (gelu, 2, 50, "expected party 0 or 1, got 2"),
            (gelu, -1, 50, "expected party 0 or 1, got -1"),
            (gelu, 0, 0, "expected bw of at least 1, got 0"),
            (gelu, 0, 25, "gelu (bw = 25, scale = 12) is refused"),
            (gelu, 0, 65, "expected a ring of 1 to 64 bits, got 65"),
            (Call::NegExp, 0, 18, "nexp (bw = 18, scale = 12) is refused"),
            (Call::Inverse(0), 0, 50, "expected nmax of at least 1, got 0"),
            (Call::Inverse(4097), 0, 50, "expected at most 4096 for the greatest input"),
            (Call::Rsqrt(-3), 0, 50, "expected extradiv of at least 1, got -3"),
            (Call::Rsqrt(1 << 20), 0, 40, "rsqrt with extradiv = 1048576 (bw = 40, scale = 12) is refused"),
        ] {
            refused(call.keygen(context, party, bw, &masks).0, ARGUMENT, reason);
        }
        let words = (masks.as_ptr(), output.as_mut_ptr());
        let keygen = |scale, input, n, output| {
            trefoil_pfss_sigma_keygen_activation(context, 0, 50, scale, true, input, n, output)
        };
        refused(keygen(7, words.0, 3, words.1), ARGUMENT, "expected at most 20 fraction bits (at least 8), got 7");
        refused(keygen(12, null(), 3, words.1), ARGUMENT, "input_mask is a null pointer");
        refused(keygen(12, words.0, 3, null_mut()), ARGUMENT, "output_mask is a null pointer");
        refused(keygen(12, words.0.byte_add(1), 2, words.1), ARGUMENT, "input_mask is not aligned");
        refused(keygen(12, words.1, 2, words.1.add(1)), ARGUMENT, "input_mask and output_mask overlap");
        refused(keygen(12, words.0, usize::MAX, words.1), ARGUMENT, "more than memory holds");
        let inside = cursor.wrapping_add(cursor.align_offset(8)).cast();
        refused(keygen(12, words.0, 3, inside), ARGUMENT, "output_mask and the buffer of keys overlap");

        // evaluations look at every pointer before they look for keys
        let [link, _] = links();
        let eval = |peer, input, output, stats| {
            trefoil_pfss_sigma_eval_nexp(context, peer, 0, 50, SCALE, input, 3, output, stats)
        };
        let deaf = SigmaPeer { ctx: null_mut(), exchange: None };
        refused(eval(null(), words.0, words.1, null_mut()), ARGUMENT, "peer is a null pointer");
        refused(eval(&deaf, words.0, words.1, null_mut()), ARGUMENT, "exchange of the peer is a null pointer");
        let peer = peer(&link);
        refused(eval(&peer, null(), words.1, null_mut()), ARGUMENT, "input_masked is a null pointer");
        refused(eval(&peer, words.0, null_mut(), null_mut()), ARGUMENT, "output_masked is a null pointer");
        refused(eval(&peer, words.1, words.1, null_mut()), ARGUMENT, "input_masked and output_masked overlap");
        let odd = words.1.byte_add(1).cast();
        refused(eval(&peer, words.0, words.1, odd), ARGUMENT, "stats is not aligned");
        refused(eval(&peer, words.0, inside, null_mut()), ARGUMENT, "output_masked and the buffer of keys overlap");
        assert!(keys.iter().all(|&byte| byte == 1) && cursor == keys.as_mut_ptr() && output == [9; 3]);

        // what was written is wiped by a clear, and by nothing else
        assert_eq!(gelu.keygen(context, 0, 50, &masks).0, OK);
        let end = cursor.offset_from_unsigned(keys.as_ptr());
        assert!(keys.starts_with(b"TFSIGMA1") && keys[end..].iter().all(|&byte| byte == 1));
        assert_eq!(trefoil_pfss_sigma_clear(context), OK);
        assert!(keys[..end].iter().all(|&byte| byte == 0) && keys[end..].iter().all(|&byte| byte == 1));
        refused(gelu.keygen(context, 0, 50, &masks).0, STATE, "no buffer of keys is set");

        let mut other = null_mut();
        let short = trefoil_pfss_sigma_open(handles.0, [1u8; 31].as_ptr(), 31, &mut other);
        refused(short, LENGTH, "expected 32 bytes of the seed, got 31");
        refused(trefoil_pfss_sigma_open(handles.0, null(), 32, &mut other), ARGUMENT, "seed is a null pointer");
        refused(trefoil_pfss_sigma_open(null_mut(), null(), 0, &mut other), ARGUMENT, "backend is a null pointer");
        refused(trefoil_pfss_sigma_reset_keygen(null_mut()), ARGUMENT, "context is a null pointer");
        trefoil_pfss_sigma_free(null_mut());
        close(handles);
    }
}

#[test]
fn deals_of_one_seed_agree_apart_and_those_of_others_differ() {
    let deal = |seed: u8, masks: &[u64]| {
        let handles = open(Some(&[seed; 32]));
        let mut keys = vec![0u8; CAPACITY];
        let mut cursor = keys.as_mut_ptr();
        // SAFETY: live handles, and a buffer that outlives its use.
        unsafe {
            assert_eq!(trefoil_pfss_sigma_set_keybuf_ptr(handles.1, &mut cursor, CAPACITY), OK);
            let outputs = [(), ()].map(|()| Call::NegExp.keygen(handles.1, 1, 40, masks).1);
            close(handles);
            (keys, outputs)
        }
    };
    let first = deal(1, &[5, 6]);
    assert!(first == deal(1, &[5, 6]));
    assert_ne!(first.1[0], first.1[1], "two deals in a row differ");
    for other in [deal(2, &[5, 6]), deal(1, &[5, 7])] {
        assert!(first.1 != other.1 && first.0 != other.0);
    }
}

/// The only test of the process's context.
#[test]
fn the_names_of_suf_work_on_one_context_for_the_process() {
    assert!(suf_softmax_enabled() && suf_layernorm_enabled());
    for (softmax, layernorm) in [(true, false), (false, true), (true, true)] {
        trefoil_pfss_sigma_enable(softmax, layernorm);
        assert_eq!((suf_softmax_enabled(), suf_layernorm_enabled()), (softmax, layernorm));
    }
    let (handles, ring) = (open(None), Ring::new(40).unwrap());
    let (x, r) = ([6144u64, 0, 4096], [1u64 << 39, 12_345, 77]);
    let x_hat = [0, 1, 2].map(|e| ring.add(x[e], r[e]));
    let (mut outputs, mut unused) = ([[0u64; 3]; 2], [0u64; 3]);
    let [mut zero, mut one] = [vec![0u8; CAPACITY], vec![0u8; CAPACITY]];
    let (mut at_zero, mut at_one) = (zero.as_mut_ptr(), one.as_mut_ptr());
    let cursors = [&raw mut at_zero, &raw mut at_one];
    // SAFETY: live handles, arrays of three words, and buffers that outlive their use.
    unsafe {
        // The environment's backend and a seed of the system, until another is opened.
        assert_eq!(suf_sigma_reset_keygen(), OK);
        assert_eq!(suf_sigma_reset_eval(), OK);
        refused(suf_sigma_consume_key(), STATE, "no buffer of keys is set");
        assert_eq!(trefoil_pfss_sigma_open_global(handles.0, null(), 0), OK);
        for (party, cursor) in (0..).zip(cursors) {
            assert_eq!(suf_sigma_set_keybuf_ptr(cursor, CAPACITY), OK);
            assert_eq!(suf_sigma_reset_keygen(), OK);
            // SIGMA's own keys may lie between
            *cursor = (*cursor).add(100);
            let output = outputs[party as usize].as_mut_ptr();
            assert_eq!(suf_sigma_keygen_activation(party, 40, SCALE, true, r.as_ptr(), 3, output), OK);
            let after = suf_sigma_keygen_inverse(party, 40, SCALE, 4, r.as_ptr(), 3, unused.as_mut_ptr());
            assert_eq!(after, OK);
        }
        assert_eq!(outputs[0], outputs[1]);

        let [first, second] = links();
        *cursors[0] = zero.as_mut_ptr().add(100);
        *cursors[1] = one.as_mut_ptr().add(100);
        assert_eq!(suf_sigma_set_keybuf_ptr(cursors[0], CAPACITY - 100), OK);
        assert_eq!(trefoil_pfss_sigma_set_keybuf_ptr(handles.1, cursors[1], CAPACITY - 100), OK);
        assert_eq!(trefoil_pfss_sigma_consume_key(handles.1), OK);
        let y_hat = test_process::scope(|scope| {
            let other = scope.spawn(move || {
                let mut y_hat = [0u64; 3];
                let output = y_hat.as_mut_ptr();
                let peer = peer(&first);
                let status =
                    suf_sigma_eval_activation(&peer, 0, 40, SCALE, true, x_hat.as_ptr(), 3, output, null_mut());
                assert_eq!(status, OK);
                // the keys after them are there, and are dropped by the end of the process's context
                assert_eq!(suf_sigma_consume_key(), OK);
                assert_eq!(suf_sigma_clear(), OK);
                y_hat
            });
            let (status, y_hat) = Call::Activation(true).eval(handles.1, &peer(&second), (1, 40), &x_hat, null_mut());
            assert_eq!(status, OK);
            assert_eq!(other.join().unwrap()[..], y_hat);
            y_hat
        });
        refused(suf_sigma_consume_key(), STATE, "no buffer of keys is set");
        assert_eq!(suf_sigma_clear(), OK);
        for ((&x, &y_hat), &mask) in x.iter().zip(&y_hat).zip(&outputs[0]) {
            let (real, bound) = Call::Activation(true).plain(x as f64 / 4096.0);
            let y = ring.signed(ring.sub(y_hat, mask)) as f64;
            assert!((y - real * 4096.0).abs() <= bound, "{x}: {y}");
        }
        close(handles);
    }
}
