//! The state machine.

use core_types::field::{M31, P};
use stark_airs::{AirError, StateMachine, Statement};

use crate::check::{assert_does_not_add_up, assert_every_cell_matters, assert_holds, holds};

#[test]
fn states_follow_each_other() {
    for (n, m) in (1..=6).flat_map(|n| (1..=6).map(move |m| (n, m))) {
        // the second coordinate wraps around the field
        let machine = StateMachine::new([n, m], [M31::from_u32(3), M31::from_u32(P - 1)]).unwrap();
        assert_eq!(machine.last(), [M31::from_u32(3 + (1 << n)), M31::from_u32((1 << m) - 1)]);
        assert_holds(&machine, &machine.trace(), &[1, 1]);
        assert_eq!(machine.public_words(), [3, P - 1, 3 + (1 << n), (1 << m) - 1]);
    }
}

#[test]
fn a_changed_cell_is_noticed() {
    let machine = StateMachine::new([3, 2], [M31::from_u32(3), M31::from_u32(5)]).unwrap();
    assert_every_cell_matters(&machine, &machine.trace(), &[1, 1]);
}

#[test]
fn steps_from_elsewhere_do_not_add_up() {
    let at = |x, y| StateMachine::new([3, 2], [x, y].map(M31::from_u32)).unwrap();
    assert_does_not_add_up(&at(3, 5), &at(3, 6).trace());
    assert!(!holds(&at(3, 5), &at(4, 5).trace()));
    assert_eq!(at(3, 5).public_sum(&[]), None);
}

#[test]
fn sizes_without_proofs_are_refused() {
    for log_rows in [0, 30] {
        for heights in [[log_rows, 4], [4, log_rows]] {
            let refused = StateMachine::new(heights, [M31::ZERO; 2]);
            assert_eq!(refused, Err(AirError::Rows { log_rows, least: 1, most: 29 }));
        }
    }
}
