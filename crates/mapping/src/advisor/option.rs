//! Options: what it costs to have which tables besides the plain base tables.

use std::collections::HashMap;

use assay_model::{Catalogue, Statement};

use super::{Expected, merge};
use crate::key_value::estimate::Estimate;
use crate::key_value::path::Stock;
use crate::key_value::program::{Costed, compile};
use crate::physical::view::{View, stored};
use crate::physical::{Class, FitError, Role};

/// The numbers of the candidates that are chosen, rising.
pub(super) type Choice = Vec<u16>;

/// Candidates, and the costs that are known already.
pub(super) struct Ranking<'a> {
    catalogue: &'a Catalogue,
    class: Class,
    expected: &'a Expected<'a>,
    estimate: &'a Estimate,
    candidates: Vec<View>,
    /// For each query the relations whose tables can play a part in it.
    scopes: Vec<Vec<u16>>,
    /// The cost of a query with these candidates in its scope.
    costs: HashMap<(usize, Choice), f64>,
    ranked: HashMap<Choice, f64>,
}

impl<'a> Ranking<'a> {
    pub(super) fn new(
        catalogue: &'a Catalogue,
        class: Class,
        expected: &'a Expected<'a>,
        estimate: &'a Estimate,
    ) -> Ranking<'a> {
        let own: Vec<Vec<u16>> =
            catalogue.queries.iter().map(|query| relations(&query.statement)).collect();
        // A write looks for the rows of others that are joined with its own in some table.
        let scopes = own.iter().map(|relations| {
            let joined = own
                .iter()
                .filter(|other| other.len() > 1 && relations.iter().any(|one| other.contains(one)));
            let mut scope: Vec<u16> = joined.flatten().chain(relations).copied().collect();
            scope.sort_unstable();
            scope.dedup();
            scope
        });
        Ranking {
            catalogue,
            class,
            expected,
            estimate,
            candidates: Vec::new(),
            scopes: scopes.collect(),
            costs: HashMap::new(),
            ranked: HashMap::new(),
        }
    }

    /// How many options were ranked.
    pub(super) fn count(&self) -> usize {
        self.ranked.len()
    }

    fn frequency(&self, query: usize) -> f64 {
        self.expected.frequencies.get(query).copied().unwrap_or(0.0).max(0.0)
    }

    /// The queries that are executed at all, the most expensive first.
    pub(super) fn queries_by_weight(&mut self, choice: &Choice) -> Result<Vec<usize>, FitError> {
        let mut weights = Vec::new();
        for query in 0..self.catalogue.queries.len() {
            let weight = self.frequency(query) * self.cost_of(query, choice)?;
            if weight > 0.0 {
                weights.push((weight, query));
            }
        }
        weights.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
        Ok(weights.into_iter().map(|(_, query)| query).collect())
    }

    /// What all queries cost together.
    pub(super) fn cost(&mut self, choice: &Choice) -> Result<f64, FitError> {
        if let Some(cost) = self.ranked.get(choice) {
            return Ok(*cost);
        }
        let mut cost = 0.0;
        for query in 0..self.catalogue.queries.len() {
            let frequency = self.frequency(query);
            if frequency > 0.0 {
                cost += frequency * self.cost_of(query, choice)?;
            }
        }
        self.ranked.insert(choice.clone(), cost);
        Ok(cost)
    }

    fn cost_of(&mut self, query: usize, choice: &Choice) -> Result<f64, FitError> {
        let scope = &self.scopes[query];
        let is_near = |number: &&u16| {
            let view = &self.candidates[usize::from(**number)];
            view.relations.iter().any(|relation| scope.contains(relation))
        };
        let near: Choice = choice.iter().filter(is_near).copied().collect();
        if let Some(cost) = self.costs.get(&(query, near.clone())) {
            return Ok(*cost);
        }
        let stored = stored(&self.views(&near));
        let cost = self.compiled(query, &stored)?.cost;
        self.costs.insert((query, near), cost);
        Ok(cost)
    }

    fn compiled(&self, query: usize, stored: &[View]) -> Result<Costed, FitError> {
        let schema = &self.catalogue.schema;
        let stock = Stock { schema, stored, estimate: self.estimate, class: self.class };
        compile(&self.catalogue.queries[query], stock, self.expected.keys)
    }

    /// The tables of an option: a base table for each relation, then the others.
    pub(super) fn views(&self, choice: &Choice) -> Vec<View> {
        let chosen = || choice.iter().map(|number| &self.candidates[usize::from(*number)]);
        let relations = 0..self.catalogue.schema.relations.len() as u16;
        let kept = relations.map(|relation| {
            let is_its_own =
                |view: &&View| view.role == Role::BaseTable && view.relations == [relation];
            let own = chosen().find(is_its_own).cloned();
            own.unwrap_or_else(|| View::whole(&self.catalogue.schema, relation))
        });
        let others = chosen().filter(|view| view.role != Role::BaseTable).cloned();
        kept.chain(others).collect()
    }

    fn number(&mut self, view: &View) -> u16 {
        let known = self.candidates.iter().position(|one| one == view);
        let number = known.unwrap_or_else(|| {
            self.candidates.push(view.clone());
            self.candidates.len() - 1
        });
        number as u16
    }

    /// The option with the tables of a variant besides; `None` if one relation would need two base
    /// tables.
    pub(super) fn extended(&mut self, choice: &Choice, variant: &[View]) -> Option<Choice> {
        let mut extended = choice.clone();
        for view in variant {
            if view.role == Role::BaseTable
                && *view == View::whole(&self.catalogue.schema, view.relations[0])
            {
                continue;
            }
            let rival = extended.iter().copied().find(|number| {
                let one = &self.candidates[usize::from(*number)];
                view.role == Role::BaseTable
                    && one.role == Role::BaseTable
                    && one.relations == view.relations
            });
            let mut view = view.clone();
            if let Some(rival) = rival {
                view = merge::merged(&self.candidates[usize::from(rival)], &view)?;
                extended.retain(|number| *number != rival);
            }
            extended.push(self.number(&view));
        }
        extended.sort_unstable();
        extended.dedup();
        Some(extended)
    }

    /// The options that merging tables of this one makes, each state on the way.
    pub(super) fn merged(&mut self, choice: &Choice) -> Vec<Choice> {
        let mut states: Vec<Choice> = vec![choice.clone()];
        let mut at = 0;
        while let Some(state) = states.get(at).cloned() {
            at += 1;
            for (place, one) in state.iter().enumerate() {
                for other in &state[place + 1..] {
                    let pair = [*one, *other].map(|number| &self.candidates[usize::from(number)]);
                    let Some(view) = merge::merged(pair[0], pair[1]) else { continue };
                    let number = self.number(&view);
                    let mut next: Choice =
                        state.iter().copied().filter(|kept| kept != one && kept != other).collect();
                    next.push(number);
                    next.sort_unstable();
                    next.dedup();
                    if !states.contains(&next) && states.len() < merge::STATES_MOST {
                        states.push(next);
                    }
                }
            }
        }
        states.split_off(1)
    }

    /// The option without unused tables.
    pub(super) fn without_unused(&mut self, choice: &Choice) -> Result<Choice, FitError> {
        let mut left = choice.clone();
        let mut cost = self.cost(&left)?;
        let mut place = 0;
        while place < left.len() {
            let mut fewer = left.clone();
            fewer.remove(place);
            let without = self.cost(&fewer)?;
            if without <= cost {
                (left, cost) = (fewer, without);
            } else {
                place += 1;
            }
        }
        Ok(left)
    }
}

fn relations(statement: &Statement) -> Vec<u16> {
    match statement {
        Statement::Select(select) => select.from.clone(),
        Statement::Insert(insert) => vec![insert.relation],
        Statement::Update(update) => vec![update.relation],
        Statement::Delete(delete) => vec![delete.relation],
    }
}
