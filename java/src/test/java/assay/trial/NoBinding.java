package assay.trial;

/** A class that is no binding. */
public class NoBinding {}
