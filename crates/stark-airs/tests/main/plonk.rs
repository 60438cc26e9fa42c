//! Circuits.

use core_types::field::M31;
use stark_airs::{AirError, Circuit, Gate, Op, Plonk};

use crate::check::{assert_does_not_add_up, assert_every_cell_matters, assert_holds, holds};

/// Gates that take the two wires before them, adding and multiplying in turn.
fn circuit(gates: u32) -> Circuit {
    let gate = |k| Gate { op: if k % 3 == 1 { Op::Multiply } else { Op::Add }, inputs: [k, k + 1] };
    Circuit::new(2, (0..gates).map(gate).collect(), vec![gates + 1, gates / 2, 0]).unwrap()
}

fn inputs() -> Vec<M31> {
    [5, 9].map(M31::from_u32).into()
}

#[test]
fn circuits_are_evaluated_and_proven() {
    for gates in (0..=9).chain([15, 16, 17, 31, 32, 33]) {
        let plonk = Plonk::evaluate(circuit(gates), inputs()).unwrap();
        assert_holds(&plonk, &plonk.trace(), &[3]);
        let mut wires = vec![5u64, 9];
        for k in 0..gates as usize {
            let (a, b) = (wires[k], wires[k + 1]);
            wires.push(if k % 3 == 1 { a * b % 0x7fff_ffff } else { (a + b) % 0x7fff_ffff });
        }
        let expected = [gates + 1, gates / 2, 0].map(|wire| M31::from_u64(wires[wire as usize]));
        assert_eq!(plonk.outputs(), expected);
    }
}

#[test]
fn a_changed_cell_is_noticed() {
    let plonk = Plonk::evaluate(circuit(6), inputs()).unwrap();
    assert_every_cell_matters(&plonk, &plonk.trace(), &[1]);
}

#[test]
fn other_outputs_do_not_add_up() {
    let right = Plonk::evaluate(circuit(6), inputs()).unwrap();
    for k in 0..3 {
        let mut outputs = right.outputs().to_vec();
        outputs[k] += M31::ONE;
        let wrong = Plonk::new(circuit(6), inputs(), outputs).unwrap();
        assert_does_not_add_up(&wrong, &wrong.trace());
    }
    let other = Plonk::evaluate(circuit(6), vec![M31::from_u32(5), M31::from_u32(8)]).unwrap();
    assert!(!holds(&right, &other.trace()));
}

#[test]
fn circuits_that_are_none_are_refused() {
    let add = |a, b| Gate { op: Op::Add, inputs: [a, b] };
    let refused = |gates, outputs| Circuit::new(1, gates, outputs).unwrap_err();
    assert_eq!(refused(vec![add(0, 1)], vec![]), AirError::Wire { gate: Some(0), wire: 1 });
    assert_eq!(refused(vec![add(0, 0), add(2, 1)], vec![]), AirError::Wire { gate: Some(1), wire: 2 });
    assert_eq!(refused(vec![add(0, 0)], vec![2]), AirError::Wire { gate: None, wire: 2 });
    assert_eq!(refused(vec![], vec![1]), AirError::Wire { gate: None, wire: 1 });
    assert!(matches!(Circuit::new(u32::MAX, vec![], vec![]), Err(AirError::Rows { .. })));
    let expected = AirError::Length { what: "inputs", expected: 2, got: 1 };
    assert_eq!(Plonk::evaluate(circuit(4), vec![M31::ONE]), Err(expected));
    let expected = AirError::Length { what: "outputs", expected: 3, got: 2 };
    assert_eq!(Plonk::new(circuit(4), inputs(), inputs()), Err(expected));
}
