package assay.trial;

import site.ycsb.DB;

/** A binding that nobody can make an instance of. */
public abstract class Unfinished extends DB {}
