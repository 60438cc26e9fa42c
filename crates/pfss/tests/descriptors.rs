//! Descriptors: their meaning, the errors, and that bytes and descriptors correspond one to one.

use pfss::{
    Ring,
    suf::{BoolExpr, Piece, Pred, SufDesc, SufError, SufSpec},
};

fn var(index: usize) -> BoolExpr {
    BoolExpr::Var(index)
}

/// Three pieces, two words, two bits and every kind of predicate, on 8 bits.
fn sample() -> SufSpec {
    let bools = || vec![(var(0) & !var(1)) ^ var(2), var(3) | BoolExpr::Const(false)];
    let piece = |start, polys: [&[u64]; 2]| Piece { start, polys: polys.map(<[u64]>::to_vec).to_vec(), bools: bools() };
    SufSpec {
        n: 8,
        degree: 2,
        words: vec!["y".into(), "slope".into()],
        bools: vec!["inside".into(), "odd_1".into()],
        preds: vec![Pred::Lt { beta: 200 }, Pred::LtLow { f: 3, gamma: 5 }, Pred::Msb, Pred::MsbAdd { c: 100 }],
        pieces: vec![
            piece(0, [&[1, 2, 3], &[7]]),
            piece(100, [&[], &[0, 255]]),
            piece(250, [&[9, 0, 128], &[1, 1, 1]]),
        ],
    }
}

#[test]
fn the_plain_meaning_is_that_of_wide_integers_for_every_input() {
    let desc = SufDesc::new(sample()).unwrap();
    for x in 0u64..256 {
        let wide = |c: [u64; 3]| (c[0] + c[1] * x + c[2] * x * x) % 256;
        let words = match x {
            0..100 => [wide([1, 2, 3]), 7],
            100..250 => [0, wide([0, 255, 0])],
            _ => [wide([9, 0, 128]), wide([1, 1, 1])],
        };
        let inside = (x < 200 && x % 8 >= 5) != (x >= 128);
        let value = desc.eval(x);
        assert_eq!(value.words, words, "{x}");
        assert_eq!(value.bools, [inside, (x + 100) % 256 >= 128], "{x}");
        assert_eq!(desc.eval(x + 256), value, "only the residue counts");
    }
}

#[test]
fn the_last_element_of_the_widest_ring_belongs_to_the_last_piece() {
    let piece = |start, value| Piece { start, polys: vec![vec![value]], bools: vec![] };
    let spec = SufSpec {
        n: 64,
        degree: 0,
        words: vec!["y".into()],
        bools: vec![],
        preds: vec![Pred::LtLow { f: 64, gamma: u64::MAX }],
        pieces: vec![piece(0, 1), piece(1 << 63, 2), piece(u64::MAX, 3)],
    };
    let desc = SufDesc::new(spec).unwrap();
    for (x, y) in [(0, 1), ((1 << 63) - 1, 1), (1 << 63, 2), (u64::MAX - 1, 2), (u64::MAX, 3)] {
        assert_eq!(desc.eval(x).words, [y]);
    }
    let ring = Ring::new(64).unwrap();
    assert!(desc.preds()[0].holds(ring, u64::MAX - 1) && !desc.preds()[0].holds(ring, u64::MAX));
}

#[test]
fn splitting_a_piece_and_shifting_the_input_change_nothing() {
    let whole = SufDesc::new(sample()).unwrap();
    let mut split = sample();
    let copy = Piece { start: 57, ..split.pieces[0].clone() };
    split.pieces.insert(1, copy);
    let split = SufDesc::new(split).unwrap();
    assert!((0..256).all(|x| whole.eval(x) == split.eval(x)));

    // p(x) = 3 + 5x and q(x) = p(x - 10): constants move with the input
    let line = |start, c0| Piece { start, polys: vec![vec![c0, 5]], bools: vec![var(0)] };
    let spec =
        |preds, pieces| SufSpec { n: 8, degree: 1, words: vec!["y".into()], bools: vec!["b".into()], preds, pieces };
    let base = SufDesc::new(spec(vec![Pred::MsbAdd { c: 30 }], vec![line(0, 3), line(90, 4)])).unwrap();
    let moved = [line(0, 4u64.wrapping_sub(50) & 255), line(10, 3u64.wrapping_sub(50) & 255), line(100, 210)];
    let moved = SufDesc::new(spec(vec![Pred::MsbAdd { c: 20 }], moved.to_vec())).unwrap();
    assert!((0..256u64).all(|x| base.eval(x) == moved.eval(x + 10)));
}

#[test]
fn every_broken_rule_has_its_own_refusal() {
    let refused = |change: &dyn Fn(&mut SufSpec)| {
        let mut spec = sample();
        change(&mut spec);
        SufDesc::new(spec).unwrap_err()
    };
    assert_eq!(refused(&|s| s.n = 0), SufError::RingWidth { got: 0 });
    assert_eq!(refused(&|s| s.n = 65), SufError::RingWidth { got: 65 });
    assert_eq!(refused(&|s| s.degree = 8), SufError::Cap { what: "degrees", max: 7, got: 8 });
    assert_eq!(
        refused(&|s| s.words = (0..17).map(|i| format!("w{i}")).collect()),
        SufError::Cap { what: "word ports", max: 16, got: 17 }
    );
    assert_eq!(
        refused(&|s| s.bools = (0..17).map(|i| format!("b{i}")).collect()),
        SufError::Cap { what: "bit ports", max: 16, got: 17 }
    );
    assert_eq!(refused(&|s| s.preds = vec![Pred::Msb; 65]), SufError::Cap { what: "predicates", max: 64, got: 65 });
    let many = |s: &mut SufSpec| s.pieces = vec![s.pieces[0].clone(); 257];
    assert_eq!(refused(&many), SufError::Cap { what: "pieces", max: 256, got: 257 });

    let port = |index, reason, got: &str| SufError::Port { index, reason, got: got.into() };
    assert_eq!(refused(&|s| s.words[1].clear()), port(1, "empty", ""));
    assert_eq!(refused(&|s| s.bools[1] = "y".into()), port(3, "taken", "y"));
    assert_eq!(refused(&|s| s.bools[0] = "Y".into()), port(2, "not made of a-z, 0-9 and _", "Y"));
    let long = "x".repeat(33);
    assert_eq!(refused(&|s| s.words[0] = "x".repeat(33)), port(0, "too long", &long));

    let constant = |what, of, index, bits, got| SufError::Constant { what, of, index, bits, got };
    assert_eq!(refused(&|s| s.preds[0] = Pred::Lt { beta: 256 }), constant("threshold", "predicate", 0, 8, 256));
    let low = |f, gamma| move |s: &mut SufSpec| s.preds[1] = Pred::LtLow { f, gamma };
    assert_eq!(refused(&low(3, 8)), constant("threshold", "predicate", 1, 3, 8));
    assert_eq!(refused(&low(0, 0)), SufError::LowBits { pred: 1, max: 8, got: 0 });
    assert_eq!(refused(&low(9, 0)), SufError::LowBits { pred: 1, max: 8, got: 9 });
    assert_eq!(refused(&|s| s.preds[3] = Pred::MsbAdd { c: 256 }), constant("summand", "predicate", 3, 8, 256));

    assert_eq!(refused(&|s| s.pieces.clear()), SufError::NoPieces);
    assert_eq!(refused(&|s| s.pieces[0].start = 1), SufError::FirstStart { got: 1 });
    let order = |got| SufError::StartOrder { piece: 2, previous: 100, got };
    assert_eq!(refused(&|s| s.pieces[2].start = 100), order(100));
    assert_eq!(refused(&|s| s.pieces[2].start = 99), order(99));
    assert_eq!(refused(&|s| s.pieces[2].start = 256), constant("start", "piece", 2, 8, 256));
    assert_eq!(refused(&|s| s.pieces[1].polys[1][1] = 256), constant("coefficient", "piece", 1, 8, 256));
    let outputs = |what, piece, got| SufError::Outputs { what, piece, expected: 2, got };
    assert_eq!(refused(&|s| s.pieces[1].polys.truncate(1)), outputs("polynomials", 1, 1));
    assert_eq!(refused(&|s| s.pieces[2].bools.push(var(0))), outputs("formulas", 2, 3));
    assert_eq!(refused(&|s| s.pieces[0].polys[1] = vec![0; 4]), SufError::Degree { piece: 0, word: 1, max: 3, got: 4 });
    assert_eq!(refused(&|s| s.pieces[2].bools[1] = !var(4)), SufError::Variable { piece: 2, bit: 1, preds: 4, got: 4 });
    let tall = |s: &mut SufSpec| s.pieces[0].bools[0] = (0..16).fold(var(0), |formula, _| !formula);
    assert_eq!(refused(&tall), SufError::Cap { what: "levels of a formula", max: 16, got: 17 });
    let wide = (0..5).fold(var(0), |formula, _| formula.clone() ^ formula);
    let wide = |s: &mut SufSpec| s.pieces[0].bools[0] = wide.clone() ^ !var(0);
    assert_eq!(refused(&wide), SufError::Cap { what: "nodes of a formula", max: 64, got: 65 });
    let endless = |s: &mut SufSpec| s.pieces[0].bools[0] = (0..10_000).fold(var(0), |formula, _| !formula);
    assert_eq!(refused(&endless), SufError::Cap { what: "levels of a formula", max: 16, got: 17 });
}

#[test]
fn bytes_and_descriptors_correspond_one_to_one() {
    let desc = SufDesc::new(sample()).unwrap();
    let bytes = desc.to_bytes();
    assert_eq!(SufDesc::from_bytes(&bytes), Ok(desc.clone()));
    for len in 0..bytes.len() {
        assert!(matches!(SufDesc::from_bytes(&bytes[..len]), Err(SufError::Truncated { .. })), "{len}");
    }
    assert_eq!(SufDesc::from_bytes(&[&bytes[..], &[0]].concat()), Err(SufError::Trailing { got: 1 }));
    for at in 0..bytes.len() {
        for value in 0..=255 {
            let mut changed = bytes.clone();
            changed[at] = value;
            // rejected, or another descriptor that encodes exactly these bytes
            if let Ok(other) = SufDesc::from_bytes(&changed) {
                assert_eq!(other.to_bytes(), changed, "byte {at} = {value}");
                assert_eq!(other == desc, changed == bytes);
            }
        }
    }
}

#[test]
fn formulas_in_bytes_have_at_most_64_nodes_of_16_levels() {
    let read = |tags: &[u64]| {
        // 8 bits, degree 0, no word, a bit named b, a predicate, a piece
        let mut bytes: Vec<u8> = [8u64, 0, 0, 1, 1, 1, 1].into_iter().flat_map(u64::to_le_bytes).collect();
        bytes.push(b'b');
        bytes.extend([&[3, 0][..], tags].concat().into_iter().flat_map(u64::to_le_bytes));
        SufDesc::from_bytes(&bytes).map(drop)
    };
    fn tree(levels: u32) -> Vec<u64> {
        if levels == 1 { vec![6] } else { [vec![3], tree(levels - 1), tree(levels - 1)].concat() }
    }
    let nots = |count: usize, formula: &[u64]| [&vec![2; count][..], formula].concat();
    let cap = |what, max, got| Err(SufError::Cap { what, max, got });
    assert_eq!(read(&nots(15, &[6])), Ok(()));
    assert_eq!(read(&nots(16, &[6])), cap("levels of a formula", 16, 17));
    assert_eq!(read(&nots(1, &tree(6))), Ok(()));
    assert_eq!(read(&nots(2, &tree(6))), cap("nodes of a formula", 64, 65));
    assert_eq!(read(&[6 + 63]), Err(SufError::Variable { piece: 0, bit: 0, preds: 1, got: 63 }));
    assert_eq!(read(&[6 + 64]), Err(SufError::Tag { what: "node of a formula", got: 6 + 64 }));
}

#[test]
fn hostile_bytes_are_refused_with_the_reason() {
    let with = |at: usize, value: u64| {
        let mut bytes = SufDesc::new(sample()).unwrap().to_bytes();
        bytes[8 * at..8 * at + 8].copy_from_slice(&value.to_le_bytes());
        SufDesc::from_bytes(&bytes).unwrap_err()
    };
    let huge = u64::MAX;
    let cap = |what, max| SufError::Cap { what, max, got: usize::MAX };
    assert_eq!(with(0, huge), cap("ring width", 64));
    assert_eq!(with(0, 0), SufError::RingWidth { got: 0 });
    assert_eq!(with(1, huge), cap("degree", 7));
    assert_eq!(with(2, huge), cap("word ports", 16));
    assert_eq!(with(3, huge), cap("bit ports", 16));
    assert_eq!(with(4, huge), cap("predicates", 64));
    assert_eq!(with(5, huge), cap("pieces", 256));
    assert_eq!(with(6, huge), cap("bytes of a name", 32));
}
