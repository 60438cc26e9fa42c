//! Relations of any width are drawn as a verifier draws them.

use core_types::{
    air::{Air, LogUp, Relation, Row},
    field::M31,
};
use stark::{Proof, ProverError, Residency};
use stark_verifier::Component as Checked;

use crate::{
    common::processor,
    host_columns::{prover, verify},
};

/// An AIR that uses and yields a pair on each row, in a relation between up to `size` values.
///
/// In another relation, between no values, it uses and yields nothing.
struct PairAir {
    size: u32,
}

impl PairAir {
    const NONE: Relation = Relation::new(0, 0);

    const fn pairs(&self) -> Relation {
        Relation::new(1, self.size)
    }
}

impl Air for PairAir {
    fn log_rows(&self) -> u32 {
        4
    }

    fn eval<R: Row>(&self, row: &mut R) {
        let (x, y) = (row.column(), row.column());
        let one = R::E::from(R::F::from(M31::ONE));
        let mut entries = LogUp::new(2);
        for times in [one, -one] {
            entries.entry(row, self.pairs(), times, &[x, y]);
            entries.entry(row, Self::NONE, times, &[]);
        }
        entries.finish(row);
    }
}

/// Returns the proof with relations of these widths, which the verifier accepts.
///
/// The proof is the same for every width.
fn proof(size: u32) -> Proof {
    let (q, air) = (processor(), PairAir { size });
    let rows: Vec<M31> = (0..16).map(M31::from_u32).collect();
    let mut prover = prover(&q, &air, Residency::Full);
    let [first, again] = [(); 2].map(|()| {
        let relations = [PairAir::NONE, air.pairs()];
        let mut session = prover.begin(&q).unwrap();
        session.commit_preprocessed().unwrap();
        session.commit(&[&rows, &rows]).unwrap();
        relations.into_iter().for_each(|relation| session.draw_relation(relation).unwrap());
        session.commit_look_ups().unwrap();
        let (challenges, sums) = (session.challenges().unwrap(), session.claimed_sums().unwrap());
        let proof = session.finish().unwrap();
        assert_eq!(challenges, verify(vec![Checked::new(&air, &[])], &proof, &relations, &sums, &sums));
        assert_eq!(challenges.len(), 1 + size as usize);
        proof
    });
    assert_eq!(first, again);
    first
}

#[test]
fn relations_wider_than_their_entries_are_drawn_whole() {
    let narrow = proof(2);
    for size in [3, 5, 33, 1000] {
        assert_eq!(proof(size), narrow, "{size}");
    }
}

#[test]
fn slots_that_no_air_can_read_are_refused() {
    let q = processor();
    let mut prover = prover(&q, &PairAir { size: 2 }, Residency::Full);
    let mut session = prover.begin(&q).unwrap();
    let slot = |got| Err(ProverError::Slot { most: 1 << 16, got });
    assert_eq!(session.draw_relation(Relation::new(0, u32::MAX)), slot(u32::MAX as usize - 1));
    assert_eq!(session.draw_relation(Relation::new(u32::MAX, 0)), slot(u32::MAX as usize));
    assert_eq!(session.draw_relation(Relation::new(1 << 15, (1 << 15) + 1)), slot(1 << 16));
    assert_eq!(session.draw_relation(Relation::new(1 << 15, 1 << 15)), Ok(()));
}
