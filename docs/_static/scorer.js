// The search lists guides and examples before pages of the reference that match equally well.
var Scorer = {
  score: ([docname, , , , score]) => score + (docname.startsWith("api/") ? 0 : 12),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
