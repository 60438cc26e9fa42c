//! Registers: words, in groups of four that values of the secure field take whole.

use std::collections::BTreeSet;

/// Which registers are free. The lowest are given first.
#[derive(Debug, Default)]
pub(crate) struct FreeRegisters {
    /// Groups that are free as a whole, below `groups`.
    free_groups: BTreeSet<u32>,
    /// Free registers of groups in which others are taken.
    free_words: BTreeSet<u32>,
    groups: u32,
}

impl FreeRegisters {
    /// The first of four free registers that follow each other.
    pub(crate) fn take_group(&mut self) -> u32 {
        let group = self.free_groups.pop_first().unwrap_or_else(|| {
            self.groups += 1;
            self.groups - 1
        });
        4 * group
    }

    /// A free register.
    pub(crate) fn take_word(&mut self) -> u32 {
        self.free_words.pop_first().unwrap_or_else(|| {
            let first = self.take_group();
            self.free_words.extend(first + 1..first + 4);
            first
        })
    }

    /// Gives four registers back.
    pub(crate) fn free_group(&mut self, first: u32) {
        self.free_groups.insert(first / 4);
    }

    /// Gives a register back.
    pub(crate) fn free_word(&mut self, register: u32) {
        self.free_words.insert(register);
        let first = register / 4 * 4;
        if (first..first + 4).all(|register| self.free_words.contains(&register)) {
            (first..first + 4).for_each(|register| {
                self.free_words.remove(&register);
            });
            self.free_group(first);
        }
    }

    /// One more than the highest register that was ever taken, rounded up to a group.
    pub(crate) const fn count(&self) -> u32 {
        4 * self.groups
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_fill_groups_and_groups_come_back_whole() {
        let mut registers = FreeRegisters::default();
        assert_eq!([(); 5].map(|()| registers.take_word()), [0, 1, 2, 3, 4]);
        assert_eq!(registers.take_group(), 8);
        [0, 1, 3].into_iter().for_each(|register| registers.free_word(register));
        assert_eq!(registers.take_group(), 12);
        registers.free_word(2);
        assert_eq!((registers.take_group(), registers.count()), (0, 16));
        registers.free_group(8);
        assert_eq!([(); 4].map(|()| registers.take_word()), [5, 6, 7, 8]);
    }
}
