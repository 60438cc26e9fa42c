//! What follows from a statement and the residency of its values, before any memory is taken.

use stark_verifier::PcsConfig;

use crate::{
    Component, MemoryPlan, ProverError, Residency, neighbours::Neighbours, ranks::Place, residency::bounds,
    samples::Samples, shape::Shape,
};

/// What follows from a statement and the residency of its values.
#[derive(Clone, Debug)]
pub(crate) struct Outline {
    pub(crate) residency: Residency,
    pub(crate) shape: Shape,
    pub(crate) samples: Samples,
    pub(crate) neighbours: Neighbours,
}

impl Outline {
    /// That of one of the ranks that make a proof together, with the fewest blocks of which all ranks have as many and whose memory
    /// `fits`; if none fits, that which takes the least. `shape` is that of a prover alone.
    pub(crate) fn of_rank(
        mut shape: Shape,
        config: &PcsConfig,
        components: &[Component],
        [rank, ranks]: [usize; 2],
        fits: impl Fn(&MemoryPlan) -> bool,
    ) -> Result<(Self, MemoryPlan), ProverError> {
        let (_, most) = bounds(&shape);
        if !ranks.is_power_of_two() || ranks > 1 << most {
            return Err(ProverError::Ranks { most: 1 << most, got: ranks });
        }
        shape.place = Place { rank, log_ranks: ranks.ilog2() };
        let planned = |log_blocks: u32| {
            let outline = Self::new(shape.clone(), components, Residency::Blocks(1 << log_blocks))?;
            let plan = MemoryPlan::of(config, &outline, components)?;
            Ok::<_, ProverError>((outline, plan))
        };
        let even = (shape.log_blowup + shape.place.log_ranks).min(most);
        let mut least = planned(even)?;
        for log_blocks in even + 1..=most {
            if fits(&least.1) {
                break;
            }
            let next = planned(log_blocks)?;
            if next.1.parts().bytes() < least.1.parts().bytes() {
                least = next;
            }
        }
        Ok(least)
    }

    /// `shape` is that of the statement with all values in memory, for one of the ranks.
    pub(crate) fn new(mut shape: Shape, components: &[Component], residency: Residency) -> Result<Self, ProverError> {
        shape.log_blocks = residency.log_blocks(&shape)?;
        let samples = Samples::new(&shape);
        let neighbours = Neighbours::new(&shape, components);
        Ok(Self { residency, shape, samples, neighbours })
    }
}
