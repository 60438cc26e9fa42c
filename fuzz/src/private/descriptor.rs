//! Descriptors: one encoding each, and an accepted program computes its descriptor on shares.

use pfss::{
    BoolShares, Dealer, Gate, Shares, Task, eval_lockstep,
    suf::{SufDesc, SufProgram},
};

use crate::queue::QUEUE;

/// Programs of more bytes are read and not run: they take longer than they tell.
const MAX_RUN_BYTES: usize = 2048;

/// Checks one input.
pub fn check_input(data: &[u8]) {
    if let Ok(desc) = SufDesc::from_bytes(data) {
        assert_eq!(desc.to_bytes(), data, "two encodings of one descriptor");
    }
    let Ok(program) = SufProgram::from_bytes(data) else { return };
    assert_eq!(program.to_bytes(), data, "two encodings of one program");
    if data.len() <= MAX_RUN_BYTES {
        run(&program);
    }
}

/// Evaluates on shares at corners of the domain, and compares.
fn run(program: &SufProgram) {
    let q = &*QUEUE;
    let (n, k) = (program.desc().ring().bits(), program.domain().bits());
    let mask = u64::MAX >> (64 - n);
    let x = [0, 1, (1 << (k - 1)) - 1, 1 << (k - 1), u64::MAX].map(|x: u64| extended(x, k) & mask);
    let masks = [0, 1, 0x0123_4567_89ab_cdef, 1 << (n - 1), u64::MAX].map(|r: u64| r & mask);
    let x_hat: Vec<u64> = x.iter().zip(&masks).map(|(x, r)| x.wrapping_add(*r) & mask).collect();
    let gate = Gate::suf(program.clone());
    let dealt = Dealer::insecure_from_seed(7).insecure_deal_for_masks(q, &gate, &masks);
    let bundles = dealt.expect("a program that was accepted is dealt");
    let keys = bundles.map(|bundle| bundle.with_open_inputs().expect("a gate with an input mask"));
    let shares = eval_lockstep(q, Task::Suf, keys, &x_hat).expect("keys of this gate are evaluated");
    let (words, bools) = (program.desc().words().len(), program.desc().bools().len());
    for (e, &x) in x.iter().enumerate() {
        let value = program.desc().eval(x);
        let got: Vec<u64> = (0..words).map(|word| added(&shares, |s| s.words[words * e + word]) & mask).collect();
        assert_eq!(got, value.words, "words at {x:#x}");
        let got: Vec<bool> = (0..bools).map(|bit| opened(&shares, masks.len(), bools, e, bit, mask)).collect();
        assert_eq!(got, value.bools, "bits at {x:#x}");
    }
}

/// The low `k` bits as a signed number.
fn extended(x: u64, k: u32) -> u64 {
    ((x << (64 - k)).cast_signed() >> (64 - k)).cast_unsigned()
}

fn added(shares: &[Shares; 2], of: impl Fn(&Shares) -> u64) -> u64 {
    of(&shares[0]).wrapping_add(of(&shares[1]))
}

/// A bit of element `e`.
fn opened(shares: &[Shares; 2], count: usize, bools: usize, e: usize, bit: usize, mask: u64) -> bool {
    match (&shares[0].bools, &shares[1].bools) {
        (BoolShares::Additive(a), BoolShares::Additive(b)) => {
            let at = bools * e + bit;
            match a[at].wrapping_add(b[at]) & mask {
                0 => false,
                1 => true,
                other => panic!("{other:#x} is no bit"),
            }
        }
        (BoolShares::Xor(a), BoolShares::Xor(b)) => {
            let word = bit * count.div_ceil(32) + e / 32;
            (a.words()[word] ^ b.words()[word]) >> (e % 32) & 1 == 1
        }
        _ => panic!("the parties hold different forms"),
    }
}
