//! The application: read, check, write.
//!
//! | operation | queries |
//! |---|---|
//! | create, update a person or place | one, which checks by itself |
//! | create a prescription | reads it, patient, staff, pharmacy; writes it, three lists |
//! | process, add drugs | reads the prescription; writes it and, if nested, its three copies |
//! | read | reads the record and its list, which does not depend on it |
//!
//! Where the store has transactions each operation of several queries is one; where not, queries
//! that do not depend on each other are sent together.

use assay_model::{Datum, Reason};
use assay_store::Step;
use assay_workload::script::fmke::{FmkeLayout, FmkeQuery, Owner, Queries};

use crate::AnswerStyle;
use crate::entity::Entity;
use crate::gateway::{Failed, Gateway, QueryRows, Sent};
use crate::json;
use crate::packed::{
    NOT_PROCESSED, Prescription, added_line, number, processed_line, text, unpack,
};
use crate::request::{Id, NewPrescription, Operation, Selection};

/// Sessions that one operation may use at the same time.
pub(crate) const SESSIONS_EACH: u32 = 4;

/// What all operations of a worker share.
pub(crate) struct Application {
    pub(crate) gateway: Gateway,
    pub(crate) queries: Queries,
    pub(crate) layout: FmkeLayout,
    pub(crate) compat: AnswerStyle,
    pub(crate) has_transactions: bool,
}

/// Why an operation did not do what it should.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The answer says so with this word: it certainly did not happen.
    Word(&'static str),
    /// Likewise, for the store does not work: it would refuse any other.
    Unavailable(&'static str),
    /// It may have happened.
    Unknown,
}

impl From<Failed> for Fault {
    fn from(failed: Failed) -> Fault {
        match failed {
            Failed::Refused(Reason::Conflict) => Fault::Word("aborted"),
            Failed::Refused(reason) if reason.is_about_request() => Fault::Word(reason.name()),
            Failed::Refused(reason) => Fault::Unavailable(reason.name()),
            Failed::Unknown => Fault::Unknown,
        }
    }
}

/// Rows that are not what the queries select.
const GARBLED: Fault = Fault::Word("garbled");
const NOT_FOUND: Fault = Fault::Word("not_found");
const NO_PRESCRIPTION: Fault = Fault::Word("no_such_prescription");
const ALREADY_PROCESSED: Fault = Fault::Word("prescription_already_processed");
const PRESCRIPTION_TAKEN: Fault = Fault::Word("prescription_id_taken");

/// The owners of a prescription in the order in which the application looks for them.
const OWNERS: [(Owner, Entity); 3] = [
    (Owner::Patient, Entity::Patient),
    (Owner::Staff, Entity::Staff),
    (Owner::Pharmacy, Entity::Pharmacy),
];

impl Application {
    /// The body of the answer to `operation`, for which the sessions from `session` on are free.
    pub(crate) async fn perform(
        &self,
        operation: &Operation,
        session: u32,
    ) -> Result<Vec<u8>, Fault> {
        let mut unit = Unit { application: self, session, is_open: false };
        let done = unit.perform(operation).await;
        match done {
            Ok(body) => unit.commit().await.map(|()| body),
            // A precondition that does not hold has read only; what failed was undone.
            Err(fault) => unit.commit().await.and(Err(fault)),
        }
    }
}

/// One operation under way.
struct Unit<'a> {
    application: &'a Application,
    session: u32,
    /// Whether its transaction is open.
    is_open: bool,
}

impl Unit<'_> {
    async fn perform(&mut self, operation: &Operation) -> Result<Vec<u8>, Fault> {
        match operation {
            Operation::Create(entity, id, texts) => self.create(*entity, *id, texts).await,
            Operation::Update(entity, id, texts) => {
                let missing = Fault::Word(entity.missing());
                let id = stored(*id, missing)?;
                self.update(*entity, id, texts).await
            }
            Operation::Read(entity, id) => self.read(*entity, stored(*id, NOT_FOUND)?).await,
            Operation::List(entity, id, selection) => match self.application.compat {
                AnswerStyle::Corrected => {
                    let id = stored(*id, Fault::Word(entity.missing()))?;
                    self.list(*entity, id, *selection).await
                }
                AnswerStyle::Repo | AnswerStyle::Antidote => {
                    self.read(*entity, stored(*id, NOT_FOUND)?).await
                }
            },
            Operation::CreatePrescription(new) => self.create_prescription(new).await,
            Operation::ReadPrescription(id) => {
                let id = stored(*id, NOT_FOUND)?;
                let rows = self.alone(FmkeQuery::PrescriptionRead, &[Datum::Int(id)]).await?;
                let prescription = first(&rows)?.ok_or(NOT_FOUND)?;
                let as_text = self.has_text_ids();
                Ok(json::success(|into| prescription_object(&prescription, as_text, into)))
            }
            Operation::Process(id, date) => self.process(stored(*id, NO_PRESCRIPTION)?, date).await,
            Operation::AddDrugs(id, drugs) => {
                self.add_drugs(stored(*id, NO_PRESCRIPTION)?, drugs).await
            }
        }
    }

    fn layout(&self) -> FmkeLayout {
        self.application.layout
    }

    fn has_text_ids(&self) -> bool {
        self.application.compat == AnswerStyle::Antidote
    }

    async fn create(
        &mut self,
        entity: Entity,
        id: i64,
        texts: &[String],
    ) -> Result<Vec<u8>, Fault> {
        let mut arguments = vec![Datum::Int(id)];
        arguments.extend(texts.iter().map(|text| Datum::Text(text)));
        if entity.owner().is_some() && self.layout() == FmkeLayout::NestedPacked {
            arguments.push(Datum::Text(""));
        }
        match self.alone(entity.insert(), &arguments).await {
            Ok(_) => Ok(json::OK.to_vec()),
            Err(Failed::Refused(Reason::Exists)) => Err(Fault::Word(entity.taken())),
            Err(failed) => Err(failed.into()),
        }
    }

    async fn update(
        &mut self,
        entity: Entity,
        id: i64,
        texts: &[String],
    ) -> Result<Vec<u8>, Fault> {
        let mut arguments: Vec<Datum<'_>> = texts.iter().map(|text| Datum::Text(text)).collect();
        arguments.push(Datum::Int(id));
        match self.alone(entity.update(), &arguments).await?.found {
            true => Ok(json::OK.to_vec()),
            false => Err(Fault::Word(entity.missing())),
        }
    }

    async fn read(&mut self, entity: Entity, id: i64) -> Result<Vec<u8>, Fault> {
        let list = match (entity.owner(), self.layout()) {
            (None, _) | (_, FmkeLayout::NestedPacked) => None,
            (Some(owner), FmkeLayout::Normalised) => Some(FmkeQuery::ListNumbers(owner)),
            (Some(owner), FmkeLayout::Nested) => Some(FmkeQuery::ListRead(owner)),
        };
        let list = list.map(|query| (query, vec![Datum::Int(id)]));
        let (record, rows) = self.with_list(entity, id, list).await?;
        if record.count == 0 {
            return Err(NOT_FOUND);
        }
        let list = match (rows, self.layout()) {
            (Some(rows), FmkeLayout::Normalised) => {
                let numbers: Option<Vec<i64>> = rows.columns().map(number).collect();
                Listed::Numbers(numbers.ok_or(GARBLED)?)
            }
            (Some(rows), _) => Listed::Prescriptions(Prescription::all(&rows).ok_or(GARBLED)?),
            (None, _) if entity.owner().is_some() => Listed::Prescriptions(packed(&record)?),
            (None, _) => Listed::Nothing,
        };
        let as_text = self.has_text_ids();
        let mut columns = record.columns();
        let id = columns.next().and_then(number).ok_or(GARBLED)?;
        let members = entity.members();
        let texts: Option<Vec<&str>> =
            (1..members.len()).map(|_| columns.next().and_then(text)).collect();
        let texts = texts.ok_or(GARBLED)?;
        Ok(json::success(|into| {
            into.push(b'{');
            json::member(members[0], into);
            json::id(id, as_text, into);
            for (name, value) in members[1..].iter().zip(texts) {
                json::member(name, into);
                json::text(value, into);
            }
            if let Some(name) = entity.list_member() {
                json::member(name, into);
                list.write(as_text, into);
            }
            into.push(b'}');
        }))
    }

    /// A record and, with it, what `list` finds, where the list is not within the record.
    async fn with_list(
        &mut self,
        entity: Entity,
        id: i64,
        list: Option<(FmkeQuery, Vec<Datum<'_>>)>,
    ) -> Result<(QueryRows, Option<QueryRows>), Failed> {
        let record = (entity.read(), vec![Datum::Int(id)]);
        let Some(list) = list else {
            return Ok((self.alone(record.0, &record.1).await?, None));
        };
        let [record, list] = self.together(&[record, list]).await;
        Ok((record?, Some(list?)))
    }

    /// The prescriptions of an owner, by themselves.
    async fn list(
        &mut self,
        entity: Entity,
        id: i64,
        selection: Selection,
    ) -> Result<Vec<u8>, Fault> {
        let missing = Fault::Word(entity.missing());
        let owner = entity.owner().ok_or(missing)?;
        let list = match (self.layout(), selection) {
            (FmkeLayout::NestedPacked, _) => None,
            (_, Selection::All) => Some((FmkeQuery::ListRead(owner), vec![Datum::Int(id)])),
            (_, Selection::Processed) => {
                Some((FmkeQuery::ListProcessed(owner), vec![Datum::Int(id), Datum::Int(1)]))
            }
        };
        let (record, rows) = self.with_list(entity, id, list).await?;
        if record.count == 0 {
            return Err(missing);
        }
        let mut all = match rows {
            None => packed(&record)?,
            Some(rows) => Prescription::all(&rows).ok_or(GARBLED)?,
        };
        if selection == Selection::Processed {
            all.retain(|prescription| prescription.is_processed);
        }
        let as_text = self.has_text_ids();
        Ok(json::success(|into| Listed::Prescriptions(all).write(as_text, into)))
    }

    async fn create_prescription(&mut self, new: &NewPrescription) -> Result<Vec<u8>, Fault> {
        let prescription = Prescription {
            id: new.id,
            patient: new.patient,
            prescriber: new.prescriber,
            pharmacy: new.pharmacy,
            date_prescribed: new.date.clone(),
            date_processed: NOT_PROCESSED.to_owned(),
            drugs: new.drugs.clone(),
            is_processed: false,
        };
        self.require_new(&prescription).await?;
        let columns = columns(&prescription);
        match self.query(FmkeQuery::PrescriptionInsert, &columns).await {
            Ok(_) => {}
            Err(Failed::Refused(Reason::Exists)) => return Err(PRESCRIPTION_TAKEN),
            Err(failed) => return Err(failed.into()),
        }
        let line = prescription.line();
        let arguments = [Owner::Pharmacy, Owner::Staff, Owner::Patient].map(|owner| {
            let id = Datum::Int(of_owner(&prescription, owner));
            let arguments = match self.layout() {
                FmkeLayout::Normalised => vec![id, Datum::Int(prescription.id)],
                FmkeLayout::Nested => std::iter::once(id).chain(columns).collect(),
                FmkeLayout::NestedPacked => vec![Datum::Text(&line), id],
            };
            (FmkeQuery::ListAdd(owner), arguments)
        });
        for added in self.together(&arguments).await {
            // The rest of it is there already.
            added.map_err(|failed| self.after_a_write(failed))?;
        }
        Ok(json::OK.to_vec())
    }

    /// Reads what a new prescription refers to, and whether its identifier is free.
    async fn require_new(&mut self, prescription: &Prescription) -> Result<(), Fault> {
        let own = (FmkeQuery::PrescriptionRead, vec![Datum::Int(prescription.id)]);
        let of = |(owner, _): &(Owner, Entity)| {
            (FmkeQuery::OwnerRead(*owner), vec![Datum::Int(of_owner(prescription, *owner))])
        };
        let [patient, staff, pharmacy] = [of(&OWNERS[0]), of(&OWNERS[1]), of(&OWNERS[2])];
        let [taken, patient, staff, pharmacy] =
            self.together(&[own, patient, staff, pharmacy]).await;
        let taken = match taken?.count {
            0 => Ok(()),
            _ => Err(PRESCRIPTION_TAKEN),
        };
        let is_taken_last = self.application.compat == AnswerStyle::Antidote;
        if !is_taken_last {
            taken?;
        }
        // The original's driver for AntidoteDB looks for the pharmacy before the staff.
        let mut owners = [(OWNERS[0].1, patient), (OWNERS[1].1, staff), (OWNERS[2].1, pharmacy)];
        if is_taken_last {
            owners.swap(1, 2);
        }
        for (entity, rows) in owners {
            if rows?.count == 0 {
                return Err(Fault::Word(entity.missing()));
            }
        }
        taken
    }

    async fn process(&mut self, id: i64, date: &str) -> Result<Vec<u8>, Fault> {
        let arguments = [Datum::Text(date), Datum::Int(1), Datum::Int(id), Datum::Int(0)];
        let given = arguments[..2].to_vec();
        let line = processed_line(id, date);
        self.change(
            id,
            FmkeQuery::PrescriptionProcess,
            &arguments,
            |owner, of| {
                let copy = [given.clone(), vec![Datum::Int(of), Datum::Int(id)]].concat();
                (FmkeQuery::CopyProcess(owner), copy)
            },
            &line,
        )
        .await
    }

    async fn add_drugs(&mut self, id: i64, drugs: &str) -> Result<Vec<u8>, Fault> {
        let drugs = format!(",{drugs}");
        let arguments = [Datum::Text(&drugs), Datum::Int(id), Datum::Int(0)];
        let line = added_line(id, &drugs);
        self.change(
            id,
            FmkeQuery::PrescriptionAddDrugs,
            &arguments,
            |owner, of| {
                let copy = vec![Datum::Text(&drugs), Datum::Int(of), Datum::Int(id)];
                (FmkeQuery::CopyAddDrugs(owner), copy)
            },
            &line,
        )
        .await
    }

    /// Changes a prescription that is not processed yet, then its copies: `copy` is the query for
    /// the copy of an owner, `line` is what a packed list gets.
    async fn change<'b>(
        &mut self,
        id: i64,
        query: FmkeQuery,
        arguments: &[Datum<'b>],
        copy: impl Fn(Owner, i64) -> (FmkeQuery, Vec<Datum<'b>>),
        line: &'b str,
    ) -> Result<Vec<u8>, Fault> {
        let rows = self.query(FmkeQuery::PrescriptionRead, &[Datum::Int(id)]).await?;
        let prescription = first(&rows)?.ok_or(NO_PRESCRIPTION)?;
        if prescription.is_processed {
            return Err(ALREADY_PROCESSED);
        }
        if !self.query(query, arguments).await?.found {
            // Somebody else was faster.
            return Err(ALREADY_PROCESSED);
        }
        let copies = [Owner::Patient, Owner::Pharmacy, Owner::Staff].map(|owner| {
            let of = of_owner(&prescription, owner);
            match self.layout() {
                FmkeLayout::NestedPacked => {
                    (FmkeQuery::ListAdd(owner), vec![Datum::Text(line), Datum::Int(of)])
                }
                _ => copy(owner, of),
            }
        });
        if self.layout() != FmkeLayout::Normalised {
            for changed in self.together(&copies).await {
                changed.map_err(|failed| self.after_a_write(failed))?;
            }
        }
        Ok(json::OK.to_vec())
    }

    /// Without transactions a write that is refused after others leaves half of the operation.
    fn after_a_write(&self, failed: Failed) -> Fault {
        match self.application.has_transactions {
            true => failed.into(),
            false => Fault::Unknown,
        }
    }

    /// A query that is all of its operation.
    async fn alone(
        &mut self,
        query: FmkeQuery,
        arguments: &[Datum<'_>],
    ) -> Result<QueryRows, Failed> {
        let step = self.step(query)?;
        let sent = Sent { session: self.session, step, begins: false, is_within: false };
        self.application.gateway.call(sent, arguments).await
    }

    /// A query of an operation that has several.
    async fn query(
        &mut self,
        query: FmkeQuery,
        arguments: &[Datum<'_>],
    ) -> Result<QueryRows, Failed> {
        if !self.application.has_transactions {
            return self.alone(query, arguments).await;
        }
        let step = self.step(query)?;
        let begins = !self.is_open;
        let sent = Sent { session: self.session, step, begins, is_within: !begins };
        let answered = self.application.gateway.call(sent, arguments).await;
        // A step that is not done ends the transaction.
        self.is_open = answered.is_ok();
        answered
    }

    /// Queries that do not depend on each other, in this order where there are transactions.
    async fn together<const N: usize>(
        &mut self,
        queries: &[(FmkeQuery, Vec<Datum<'_>>); N],
    ) -> [Result<QueryRows, Failed>; N] {
        let mut answered = [const { Err(Failed::Unknown) }; N];
        if self.application.has_transactions {
            for (place, (query, arguments)) in queries.iter().enumerate() {
                answered[place] = self.query(*query, arguments).await;
                if answered[place].is_err() {
                    // Those behind it find no transaction: what they are told is the first reason.
                    let failed = answered[place].as_ref().err().copied();
                    let failed = failed.unwrap_or(Failed::Unknown);
                    answered[place + 1..].iter_mut().for_each(|later| *later = Err(failed));
                    break;
                }
            }
            return answered;
        }
        let calls = (0..).zip(queries).map(|(number, (query, arguments))| {
            let session = self.session + number % SESSIONS_EACH;
            let step = self.step(*query);
            let gateway = &self.application.gateway;
            async move {
                let sent = Sent { session, step: step?, begins: false, is_within: false };
                gateway.call(sent, arguments).await
            }
        });
        let mut calls: Vec<_> = calls.map(Box::pin).collect();
        let mut is_awaited = [true; N];
        std::future::poll_fn(|context| {
            for (place, call) in calls.iter_mut().enumerate().filter(|(place, _)| *place < N) {
                if is_awaited[place]
                    && let std::task::Poll::Ready(one) = call.as_mut().poll(context)
                {
                    answered[place] = one;
                    is_awaited[place] = false;
                }
            }
            match is_awaited.contains(&true) {
                true => std::task::Poll::Pending,
                false => std::task::Poll::Ready(()),
            }
        })
        .await;
        answered
    }

    fn step(&self, query: FmkeQuery) -> Result<Step, Failed> {
        let place = self.application.queries.place(query);
        let number = place.and_then(|place| u16::try_from(place + 1).ok());
        number.map(Step::Query).ok_or(Failed::Refused(Reason::Unsupported))
    }

    /// Ends the transaction, if one is open.
    async fn commit(&mut self) -> Result<(), Fault> {
        if !self.is_open {
            return Ok(());
        }
        self.is_open = false;
        let sent =
            Sent { session: self.session, step: Step::Commit, begins: false, is_within: true };
        self.application.gateway.call(sent, &[]).await?;
        Ok(())
    }
}

/// An identifier that a store may have; any other names nothing.
fn stored(id: Id, missing: Fault) -> Result<i64, Fault> {
    match id {
        Id::Number(id) => Ok(id),
        Id::TooLarge => Err(missing),
    }
}

fn of_owner(prescription: &Prescription, owner: Owner) -> i64 {
    match owner {
        Owner::Patient => prescription.patient,
        Owner::Pharmacy => prescription.pharmacy,
        Owner::Staff => prescription.prescriber,
    }
}

/// The first row, if there is one.
fn first(rows: &QueryRows) -> Result<Option<Prescription>, Fault> {
    match rows.count {
        0 => Ok(None),
        _ => Prescription::take(&mut rows.columns()).map(Some).ok_or(GARBLED),
    }
}

/// The packed list in the last column of an owner's record.
fn packed(record: &QueryRows) -> Result<Vec<Prescription>, Fault> {
    let list = record.columns().last().and_then(text).ok_or(GARBLED)?;
    let mut all = unpack(list).ok_or(GARBLED)?;
    all.reverse();
    Ok(all)
}

fn columns(of: &Prescription) -> [Datum<'_>; Prescription::COLUMNS] {
    [
        Datum::Int(of.id),
        Datum::Int(of.patient),
        Datum::Int(of.prescriber),
        Datum::Int(of.pharmacy),
        Datum::Text(&of.date_prescribed),
        Datum::Text(&of.date_processed),
        Datum::Text(&of.drugs),
        Datum::Int(i64::from(of.is_processed)),
    ]
}

/// A list as an answer has it.
enum Listed {
    Nothing,
    Numbers(Vec<i64>),
    Prescriptions(Vec<Prescription>),
}

impl Listed {
    fn write(&self, as_text: bool, into: &mut Vec<u8>) {
        match self {
            Listed::Nothing => into.extend_from_slice(b"[]"),
            Listed::Numbers(numbers) => json::array(numbers, into, |number, into| {
                into.extend_from_slice(b"\"prescription_");
                json::id(*number, false, into);
                into.push(b'"');
            }),
            Listed::Prescriptions(all) => {
                json::array(all, into, |one, into| prescription_object(one, as_text, into));
            }
        }
    }
}

fn prescription_object(of: &Prescription, as_text: bool, into: &mut Vec<u8>) {
    into.push(b'{');
    for (name, id) in [
        ("prescriptionId", of.id),
        ("prescriptionPatientId", of.patient),
        ("prescriptionPharmacyId", of.pharmacy),
        ("prescriptionPrescriberId", of.prescriber),
    ] {
        json::member(name, into);
        json::id(id, as_text, into);
    }
    json::member("prescriptionDrugs", into);
    let drugs = of.drugs.split(',').filter(|drug| !drug.is_empty());
    json::array(drugs, into, json::text);
    let state = match of.is_processed {
        true => "prescription_processed",
        false => "prescription_not_processed",
    };
    for (name, value) in [
        ("prescriptionIsProcessed", state),
        ("prescriptionDatePrescribed", &of.date_prescribed),
        ("prescriptionDateProcessed", &of.date_processed),
    ] {
        json::member(name, into);
        json::text(value, into);
    }
    into.push(b'}');
}
