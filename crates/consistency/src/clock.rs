//! Error of the clocks by which operations of several agents are compared.

use std::ops::RangeInclusive;

use assay_model::Nanos;

/// How far each agent's clock may be from the common axis, in nanoseconds, by agent number.
///
/// Two events of one agent are compared exactly: they were timed by one clock. Events of two
/// agents are ordered only if they are further apart than the sum of both errors.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClockError {
    per_agent: Vec<Nanos>,
}

impl ClockError {
    /// One clock timed everything.
    pub const NONE: ClockError = ClockError { per_agent: Vec::new() };

    /// The error of each agent's clock; agents beyond the list have none.
    pub fn of_agents(per_agent: Vec<Nanos>) -> ClockError {
        ClockError { per_agent }
    }

    /// The distance that two events must be apart to be ordered, if these agents timed them.
    pub fn margin(&self, one: u16, other: u16) -> Nanos {
        if one == other {
            return Nanos::ZERO;
        }
        self.error(one).saturating_add(self.error(other))
    }

    /// The error of this agent's clock.
    pub fn error(&self, agent: u16) -> Nanos {
        self.per_agent.get(usize::from(agent)).copied().unwrap_or(Nanos::ZERO)
    }

    /// The greatest error among these agents.
    pub fn greatest(&self, agents: RangeInclusive<u16>) -> Nanos {
        let errors = (0..).zip(&self.per_agent).filter(|(agent, _)| agents.contains(agent));
        errors.map(|(_, error)| *error).max().unwrap_or(Nanos::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_of_one_agent_have_no_margin() {
        let error = ClockError::of_agents(vec![Nanos(3), Nanos(5)]);
        assert_eq!(error.margin(1, 1), Nanos(0));
        assert_eq!(error.margin(0, 1), Nanos(8));
        assert_eq!(error.margin(0, 7), Nanos(3));
        assert_eq!(error.greatest(0..=0), Nanos(3));
        assert_eq!(error.greatest(1..=u16::MAX), Nanos(5));
        assert_eq!(error.greatest(7..=9), Nanos(0));
    }
}
